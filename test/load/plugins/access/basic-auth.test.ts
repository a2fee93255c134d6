import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createSecretHasher } from '../../../../core/auth/token/secret-hash.ts'
import plugin from '../../../../plugins/access/basic-auth.ts'
import { buildPlugin, createTestEnv, runPlugin } from '../../../../sdk/testing.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

// As cheap as possible, because the cost is tested with the hasher.
const hasher = createSecretHasher('test', 4)
const PASSWORD = 'päss:word'
const HASH = await hasher.hash(PASSWORD)

function open(t: Test, options: object, folder?: string) {
  const env = createTestEnv(folder)
  const built = buildPlugin(plugin, options, env)
  t.teardown(() => built.close?.())
  const run = (authorization?: string | string[], remoteAddress = '192.0.2.1') =>
    runPlugin(built, {
      remoteAddress,
      ...(authorization !== undefined && { headers: { authorization } }),
    })
  return Object.assign(run, { messages: env.messages })
}

const basic = (id: string, password: string, scheme = 'Basic'): string =>
  `${scheme} ${Buffer.from(`${id}:${password}`).toString('base64')}`

t.test(
  'authenticates a caller by password and removes the password from the request',
  async (t) => {
    const run = open(t, { users: [`shop ${HASH} orders`] })
    for (const scheme of ['Basic', 'basic', 'BASIC ', 'Basic']) {
      const { status, x } = await run(basic('shop', PASSWORD, scheme))
      t.equal(status, 200)
      t.same(x.account, {
        ...{ id: 'shop', name: 'shop', type: 'user', issuer: 'mx', metadata: {} },
        scopes: ['orders'],
      })
      t.notOk(x.headers.has('authorization'))
    }
    const forwarding = open(t, { users: [`shop ${HASH}`], forwardPassword: true })
    t.ok((await forwarding(basic('shop', PASSWORD))).x.headers.has('authorization'))
  },
)

t.test('hashes a password once and caches the result', async (t) => {
  const slow = await createSecretHasher('test', 12).hash(PASSWORD)
  const run = open(t, { users: [`shop ${slow}`] })
  const measure = async (): Promise<number> => {
    const startMs = performance.now()
    t.equal((await run(basic('shop', PASSWORD))).status, 200)
    return performance.now() - startMs
  }
  const first = await measure()
  const later = Math.min(await measure(), await measure(), await measure())
  t.ok(later < first / 2, `${first} ms, then ${later} ms`)
})

t.test('missing and wrong credentials return 401 with a challenge', async (t) => {
  const run = open(t, { users: [`shop ${HASH}`], realm: 'the shop' })
  const rows = [
    undefined,
    basic('shop', 'wrong'),
    basic('unknown', PASSWORD),
    basic('__proto__', PASSWORD),
    basic('shop', ''),
    basic('', ''),
    basic('SHOP', PASSWORD),
    'Basic',
    'Basic ?',
    `Basic ${Buffer.from('shop').toString('base64')}`,
    `Basic ${Buffer.from(`shop:${'x'.repeat(2000)}`).toString('base64')}`,
    'Bearer a.b.c',
  ]
  for (const authorization of rows) {
    const { status, headers, body } = await run(authorization)
    t.equal(status, 401, authorization ?? 'nothing')
    t.equal(headers.get('www-authenticate'), 'Basic realm="the shop", charset="UTF-8"')
    t.notMatch(body, 'wrong')
  }
  const twice = basic('shop', PASSWORD)
  t.equal((await run([twice, twice])).status, 400)
  const optional = open(t, { users: [`shop ${HASH}`], required: false })
  t.equal((await optional()).status, 200)
  t.equal((await optional('Bearer a.b.c')).status, 200, 'other schemes are ignored')
  t.equal((await optional(basic('shop', 'wrong'))).status, 401)
})

t.test(
  'too many wrong passwords from an address return 429, even with the correct password',
  async (t) => {
    const others = Array.from({ length: 25 }, (_, i) => `a${i} ${HASH}`)
    const run = open(t, { users: [`shop ${HASH}`, `bank ${HASH}`, ...others] })
    for (const address of ['192.0.2.1', '192.0.2.9'])
      t.equal((await run(basic('shop', PASSWORD), address)).status, 200)
    for (let i = 0; i < 5; i++) t.equal((await run(basic('shop', `wrong ${i}`))).status, 401)
    for (const password of ['wrong', PASSWORD]) {
      const { status, headers, body } = await run(basic('shop', password))
      t.equal(status, 429)
      t.match(headers.get('retry-after'), /^\d\d?$/)
      t.match(JSON.parse(body), { Detail: /^too many failed logins; try again in \d+ s$/ })
    }
    t.equal((await run(basic('bank', PASSWORD))).status, 200, 'other accounts may log in')
    t.equal((await run(basic('shop', PASSWORD), '192.0.2.9')).status, 200)
    for (let i = 0; i < 25; i++) t.equal((await run(basic(`a${i}`, 'wrong'))).status, 401)
    t.equal(
      (await run(basic('bank', PASSWORD))).status,
      200,
      'an account with a cached password is not limited',
    )
    for (const password of ['wrong', PASSWORD])
      t.equal(
        (await run(basic('bank', password))).status,
        429,
        'the correct password is not revealed',
      )
  },
)

t.test('concurrent requests with one password share its hash', async (t) => {
  const slow = await createSecretHasher('test', 12).hash(PASSWORD)
  const run = open(t, { users: [`shop ${slow}`] })
  // More than the queue of the hasher holds.
  const all = Array.from({ length: 300 }, () => run(basic('shop', PASSWORD)))
  t.same(new Set((await Promise.all(all)).map(({ status }) => status)), new Set([200]))
})

t.test('reloads the file within a second of an edit', async (t) => {
  const folder = makeTempFolder(t, 'keys')
  const write = (text: string) => writeFileSync(join(folder, 'users.txt'), text)
  write(`shop ${HASH}\n`)
  const run = open(t, { file: 'users.txt' }, folder)
  t.equal((await run(basic('shop', PASSWORD))).status, 200)
  write(`shop ${await hasher.hash('new')}\n# edited\n`)
  await waitUntil(() => run.messages.length > 0)
  t.equal((await run(basic('shop', 'new'))).status, 200)
  t.equal((await run(basic('shop', PASSWORD))).status, 401, 'including a cached password')
})

t.test('rejects invalid options at startup', async (t) => {
  const build = (options: object) => () =>
    buildPlugin(plugin, options, createTestEnv(makeTempFolder(t, 'keys')))
  t.throws(build({ users: [`shop ${PASSWORD}`] }), {
    message: /users:1: expected an id, a scrypt hash/,
  })
  t.throws(build({ users: [`a ${HASH}`, `a ${HASH}`] }), { message: /duplicate account a/ })
  t.throws(build({ file: 'none.txt' }), { message: /ENOENT/ })
  t.throws(build({ realm: 'a"b' }), { message: /realm must have/ })
})
