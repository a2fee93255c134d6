import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Exchange } from '../../core/exchange.ts'
import { loadPlugin } from '../../platform/plugins/load.ts'
import { ROOT } from '../../scripts/root.ts'
import { createTestEnv, runPlugin, type TestEnv } from '../../sdk/testing.ts'

const EXAMPLES = join(ROOT, 'examples/plugins')
const load = (name: string, options: object, env: TestEnv = createTestEnv()) =>
  loadPlugin(join(EXAMPLES, `${name}.ts`), options, env)
const sha256 = (key: string) => createHash('sha256').update(key).digest('hex')

t.test('path-rewrite replaces the longest matching prefix of complete segments', async (t) => {
  const plugin = await load('path-rewrite', {
    prefixes: { '/shop': '/go.shop', '/shop/admin/': '/back-office', '/': '/site', '/gone': '/' },
  })
  const cases: [string, string][] = [
    ['/shop', '/go.shop'],
    ['/shop/cart?a=b', '/go.shop/cart'],
    ['/shop/admin', '/back-office'],
    ['/shop/admin/users', '/back-office/users'],
    ['/shopping', '/site/shopping'],
    ['/gone', '/'],
    ['/gone/a', '/a'],
    ['/', '/site/'],
  ]
  for (const [path, expected] of cases)
    t.equal((await runPlugin(plugin, { path })).x.path, expected, path)
  const { x } = await runPlugin(await load('path-rewrite', { prefixes: { '/a': '/b' } }), {
    path: '/c',
  })
  t.equal(x.path, '/c', 'a path without a listed prefix is unchanged')
  await t.rejects(
    load('path-rewrite', { prefixes: { '/a': 'b' } }),
    /prefixes must be paths that start with \/, got "b"/,
  )
  await t.rejects(load('path-rewrite', {}), /option "prefixes" is missing/)
})

t.test('api-key accepts known keys and sends their owner to the backend', async (t) => {
  const env = createTestEnv(
    t.testdir({
      'keys.txt': `# clients\nshop ${sha256('key-1')}\n\nbot\t${sha256('key-2')} # nightly\n`,
    }),
  )
  const plugin = await load('api-key', { file: 'keys.txt' }, env)
  const { x, status } = await runPlugin(plugin, {
    headers: { 'X-Api-Key': 'key-2', 'X-Api-Client': 'admin' },
  })
  t.equal(status, 200)
  t.same(x.headers.flat, ['x-api-client', 'bot'])
})

t.test('api-key responds with 401 to a missing, wrong or hashed key', async (t) => {
  const env = createTestEnv(t.testdir({ 'keys.txt': `shop ${sha256('key-1')}` }))
  const plugin = await load('api-key', { file: 'keys.txt' }, env)
  for (const headers of [
    {},
    { 'x-api-key': '' },
    { 'x-api-key': 'key-2' },
    { 'x-api-key': sha256('key-1') },
  ]) {
    const { status, body, headers: reply, forwarded } = await runPlugin(plugin, { headers })
    t.equal(status, 401)
    t.same(JSON.parse(body), {
      Id: 'api-key',
      Code: 401,
      Detail: 'a valid key is required in the header X-Api-Key',
      Status: 'Unauthorized',
    })
    t.equal(reply.get('www-authenticate'), 'ApiKey')
    t.notOk(forwarded)
  }
})

t.test(
  'api-key reloads an edited file within a second and retains the old keys if the file does not parse',
  async (t) => {
    const dir = t.testdir({ 'keys.txt': `shop ${sha256('key-1')}` })
    const file = join(dir, 'keys.txt')
    const env = createTestEnv(dir)
    const plugin = await load('api-key', { file }, env)
    const getStatus = async (key: string) =>
      (await runPlugin(plugin, { headers: { 'x-api-key': key } })).status
    writeFileSync(file, `shop ${sha256('key-1')}\nbot ${sha256('key-2')}`)
    t.equal(await getStatus('key-2'), 401, 'not reloaded yet')
    env.now += 1000
    t.equal(await getStatus('key-2'), 200)
    writeFileSync(file, 'shop key-3-in-clear')
    env.now += 1000
    t.equal(await getStatus('key-1'), 200)
    rmSync(file)
    env.now += 1000
    t.equal(await getStatus('key-1'), 200)
    t.same(env.messages, [
      'info: API keys reloaded',
      'error: API keys not reloaded, the previous keys stay valid',
      'error: API keys not reloaded, the previous keys stay valid',
    ])
  },
)

t.test('api-key rejects a file that does not parse without quoting it', async (t) => {
  const env = createTestEnv(t.testdir({ 'keys.txt': '# clients\nshop key-in-clear' }))
  const error = await load('api-key', { file: 'keys.txt' }, env).catch((thrown: Error) => thrown)
  t.match((error as Error).message, /keys\.txt:2: must be a name and a SHA-256/)
  t.notMatch((error as Error).message, 'key-in-clear')
  await t.rejects(load('api-key', { file: 'none.txt' }, env), /ENOENT/)
})

t.test('concurrency-limit responds with 429 beyond the limit per client', async (t) => {
  const plugin = await load('concurrency-limit', { requests: 2, retryAfterSeconds: 3 })
  const pending: Exchange[] = []
  const handle = (x: Exchange) => void pending.push(x)
  const startRequest = (remoteAddress: string) => runPlugin(plugin, { remoteAddress }, { handle })
  const first = startRequest('192.0.2.1')
  const second = startRequest('192.0.2.1')
  const rejected = await startRequest('192.0.2.1')
  t.equal(rejected.status, 429)
  t.equal(rejected.headers.get('retry-after'), '3')
  t.match(JSON.parse(rejected.body), {
    Id: 'concurrency-limit',
    Code: 429,
    Detail: 'too many concurrent requests, the limit is 2',
  })
  const other = startRequest('192.0.2.2')
  t.equal(pending.length, 3, 'another client is served')
  pending[0]!.reply(200)
  t.equal((await first).status, 200)
  const third = startRequest('192.0.2.1')
  t.equal(pending.length, 4, 'a slot is free once a request has completed')
  // A client that disconnects frees its slot, too.
  ;(pending[1] as Exchange & { disconnect(): void }).disconnect()
  t.ok((await second).aborted)
  const fourth = startRequest('192.0.2.1')
  t.equal(pending.length, 5)
  for (const x of pending) x.reply(200)
  await Promise.all([other, third, fourth])
})
