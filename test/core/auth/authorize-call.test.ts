import t from 'tap'
import { admitCall } from '../../../core/auth/authorize-call.ts'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../fixtures/auth-source.ts'

const HELLO = { type: 'service', name: 'greeter', endpoint: 'A.B' }
const LOGIN = { type: 'service', name: 'auth', endpoint: 'Auth.Token' }

t.test('a login with an expired token succeeds, but any other call returns 401', async (t) => {
  const source = new MemoryAuthSource()
  const authorizer = createAuthorizer(source)
  t.teardown(authorizer.close)
  const stale = await source.issue(createAccount(), { nowMs: Date.now() - 3_600_000 })
  const metadata = `authorization: Bearer ${stale}\r\n`
  const admit = async (resource: typeof HELLO) =>
    admitCall(authorizer, { metadata, domain: 'mx', resource })
  await t.rejects(admit(HELLO), { code: 401, id: 'greeter' })
  await t.rejects(admit({ ...LOGIN, endpoint: 'Auth.Generate' }), { code: 401 })
  t.equal(await admit(LOGIN), undefined)
  source.setRules('mx', createRule({ id: 'members', scope: '*' }))
  await new Promise(setImmediate)
  t.equal(await admit(LOGIN), undefined, 'auth applies rules to logins itself')
  await t.rejects(
    admit({ ...LOGIN, endpoint: 'Auth.Keys' }),
    { code: 401 },
    'other calls of auth need a valid token',
  )
})

t.test('an authorization scheme other than Bearer is passed to the service', async (t) => {
  const source = new MemoryAuthSource()
  const authorizer = createAuthorizer(source)
  t.teardown(authorizer.close)
  const metadata = 'authorization: Basic YTpi\r\n'
  t.equal(await admitCall(authorizer, { metadata, domain: 'mx', resource: HELLO }), undefined)
})

t.test('rejects a malformed Bearer token with 401', async (t) => {
  const authorizer = createAuthorizer(new MemoryAuthSource())
  t.teardown(authorizer.close)
  for (const field of ['Bearer', 'bearer a b', 'Bearer a.b.c, Bearer d', 'BEARER\ta.b.c']) {
    const call = { metadata: `authorization: ${field}\r\n`, domain: 'mx', resource: HELLO }
    await t.rejects(async () => admitCall(authorizer, call), { code: 401, id: 'greeter' }, field)
  }
})

t.test(
  'rejects several tokens or namespaces with 400, since two readers could use different ones',
  async (t) => {
    const authorizer = createAuthorizer(new MemoryAuthSource())
    t.teardown(authorizer.close)
    for (const [name, first, second] of [
      ['authorization', 'Bearer a.b.c', 'Basic YTpi'],
      ['authorization', 'Basic YTpi', 'Bearer a.b.c'],
      ['mx-namespace', 'acme', 'mx'],
    ] as const) {
      const metadata = `${name}: ${first}\r\nx-a: 1\r\n${name}: ${second}\r\n`
      const call = { metadata, domain: 'mx', resource: HELLO }
      await t.rejects(async () => admitCall(authorizer, call), {
        code: 400,
        message: `expected one ${name} header, got several`,
      })
    }
  },
)
