import t from 'tap'
import { ADMIN, openServer } from '../../fixtures/server.ts'

const ONE = "routes: [{name: one, match: {path: /one}, respond: {status: 201, body: '1'}}]"
const SECOND_ROUTE = "routes: [{name: two, match: {path: /two}, respond: {status: 202, body: '2'}}]"

t.test(
  'Api.Apply replaces the configuration, and Api.Rollback restores an earlier one',
  async (t) => {
    const { get, post } = await openServer(t)
    const status = async (path: string) => (await get(path)).status
    const start = (await get('/api/config')).body.version
    t.match(start, { number: 1, author: 'file', summary: 'start' })

    t.match((await post('/api/diff', { text: ONE })).body, {
      etag: start.etag,
      changes: [{ kind: 'route', name: 'one', change: 'added', detail: '' }],
      restart: [],
    })
    t.equal(await status('/one'), 404, 'a diff has no effect')

    const applied = (await post('/api/apply', { text: ONE, if_match: start.etag })).body
    t.match(applied, {
      file: '',
      version: { number: 2, author: `mx/${ADMIN.id}`, summary: '+route one', time: Number },
    })
    t.equal(await status('/one'), 201)
    t.equal((await post('/api/apply', { text: SECOND_ROUTE, if_match: '*' })).status, 200)
    t.same([await status('/one'), await status('/two')], [404, 202])

    const rollback = await post('/api/rollback', { if_match: '*' })
    t.match(rollback.body.version, { number: 4, etag: applied.version.etag })
    t.same([await status('/one'), await status('/two')], [201, 404])
    t.equal((await post('/api/rollback', { version: 3, if_match: '*' })).status, 200)
    t.equal(await status('/two'), 202)
    t.match((await post('/api/rollback', { version: 99, if_match: '*' })).body, {
      Code: 404,
      Detail: 'version 99 is not stored; stored versions: 1 to 5',
    })
    const { versions } = (await get('/api/history')).body
    t.same(
      versions.map(({ summary }: { summary: string }) => summary),
      [
        'start',
        '+route one',
        '+route two, -route one',
        'rollback to 2: +route one, -route two',
        'rollback to 3: +route two, -route one',
      ],
    )
  },
)

t.test(
  'of two concurrent applies of the same version, one is applied and one is rejected with 412',
  async (t) => {
    const { get, post } = await openServer(t)
    const { etag } = (await get('/api/config')).body.version
    const results = await Promise.all(
      [ONE, SECOND_ROUTE].map((text) => post('/api/apply', { text, if_match: etag })),
    )
    const statuses = results.map(({ status }) => status).sort()
    t.same(statuses, [200, 412])
    const rejected = results.find(({ status }) => status === 412)
    t.match(rejected?.body.Detail, /^version 2 \("\w+"\) of mx\/admin is in use, expected/)
    t.equal((await get('/api/history')).body.versions.length, 2)
  },
)

t.test(
  'rejects an invalid configuration with 400, file and line, and changes nothing',
  async (t) => {
    const { get, post } = await openServer(t)
    await post('/api/apply', { text: ONE, if_match: '*' })
    for (const [text, message] of [
      ['log_level: x', /^mx\.yaml:1:12: log_level must be /],
      ['plugins: [nothing]', /^mx\.yaml:1:11: .*nothing/],
      ['plugins: [body-limit: {limit: x}]', /^mx\.yaml:1:11: /],
      [' ', 'the configuration is empty; add a setting'],
    ] as const) {
      t.match((await post('/api/apply', { text, if_match: '*' })).body, {
        Code: 400,
        Detail: message,
      })
      t.match((await post('/api/diff', { text })).body, { Code: 400, Detail: message })
    }
    t.equal((await get('/one')).status, 201)
    t.equal((await get('/api/config')).body.version.number, 2)
  },
)

t.test('settings that require a restart are reported and not applied', async (t) => {
  const { post } = await openServer(t)
  const text = 'listener: node\nlog_level: error'
  const { body } = await post('/api/apply', { text, if_match: '*' })
  t.same(body.restart, ['listener'])
  t.match((await post('/api/diff', { text })).body, { changes: [], restart: ['listener'] })
})
