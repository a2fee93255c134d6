import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import plugin from '../../../plugins/access/api-keys.ts'
import { buildPlugin, createTestEnv, runPlugin } from '../../../sdk/testing.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const KEY = 'k-4d1f0c7b2a9e'
const digest = (key: string): string => createHash('sha256').update(key).digest('hex')

function open(t: Test, options: object, folder?: string) {
  const built = buildPlugin(plugin, options, createTestEnv(folder))
  t.teardown(() => built.close?.())
  return (key?: string | string[], header = 'x-api-key') =>
    runPlugin(built, key === undefined ? {} : { headers: { [header]: key } })
}

t.test('authenticates a caller by key and removes the key from the request', async (t) => {
  const run = open(t, { keys: [`shop ${digest(KEY)} orders,read`], namespace: 'acme' })
  const { status, x } = await run(KEY)
  t.equal(status, 200)
  t.same(x.account, {
    ...{ id: 'shop', name: 'shop', type: 'user', issuer: 'acme', metadata: {} },
    scopes: ['orders', 'read'],
    apiKey: digest(KEY).slice(0, 16),
  })
  t.notOk(x.headers.has('x-api-key'))
  const forwarding = open(t, { keys: [`shop ${digest(KEY).toUpperCase()}`], forwardKey: true })
  t.equal((await forwarding(KEY)).x.headers.get('x-api-key'), KEY)
  const other = open(t, { keys: [`shop ${digest(KEY)}`], header: 'X-Other' })
  t.equal((await other(KEY, 'x-other')).status, 200)
  t.equal((await other(KEY)).status, 401)
})

t.test('responds with 401 to an invalid key', async (t) => {
  const run = open(t, { keys: [`shop ${digest(KEY)}`] })
  for (const key of [
    undefined,
    '',
    KEY.slice(1),
    `${KEY} `.repeat(100),
    digest(KEY),
    '__proto__',
  ]) {
    const { status, headers, body } = await run(key)
    t.equal(status, 401)
    t.equal(headers.get('www-authenticate'), 'ApiKey header="X-Api-Key"')
    t.notMatch(body, KEY.slice(1))
  }
  t.equal((await run([KEY, KEY])).status, 400)
  const optional = open(t, { keys: [`shop ${digest(KEY)}`], required: false })
  t.equal((await optional()).status, 200)
  t.equal((await optional('wrong')).status, 401)
})

t.test('reloads the file within a second of a change and retains inline keys', async (t) => {
  const folder = makeTempFolder(t, 'keys')
  const write = (text: string) => writeFileSync(join(folder, 'keys.txt'), text)
  write(`shop ${digest('one')}\n`)
  const run = open(t, { file: 'keys.txt', keys: [`own ${digest(KEY)}`] }, folder)
  t.same([(await run('one')).status, (await run('two')).status], [200, 401])
  write(`# another\nshop ${digest('two')}\n`)
  const endMs = Date.now() + 3000
  while ((await run('two')).status !== 200 && Date.now() < endMs)
    await new Promise((resolve) => setImmediate(resolve))
  t.same([(await run('one')).status, (await run('two')).status], [401, 200])
  t.equal((await run(KEY)).x.account?.id, 'own')
})

t.test('rejects invalid options at startup', async (t) => {
  const build = (options: object) => () =>
    buildPlugin(plugin, options, createTestEnv(makeTempFolder(t, 'keys')))
  t.throws(build({ keys: [`shop ${KEY}`] }), { message: /keys:1: expected an id, a SHA-256/ })
  t.throws(build({ keys: [`a ${digest(KEY)}`, `b ${digest(KEY)}`] }), { message: /the same key/ })
  t.throws(build({ file: 'none.txt' }), { message: /ENOENT/ })
  t.throws(build({ header: 'a b' }), { message: /header name must be a token/ })
})
