import t, { type Test } from 'tap'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { CallGuard } from '../../../core/auth/call-authorization.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../fixtures/auth-source.ts'
import { TestCall } from '../../fixtures/served-calls.ts'

const DENY_ALL = createRule({ id: 'deny-all', access: 'DENIED' })

function open(t: Test) {
  const source = new MemoryAuthSource()
  const authorizer = createAuthorizer(source)
  const guard = new CallGuard(authorizer)
  t.teardown(() => {
    guard.close()
    authorizer.close()
  })
  const pass = (metadata = '', { isStream = false, address = '' } = {}) => {
    const call = new TestCall('A.B', { metadata, stream: true })
    const served: string[] = []
    guard.pass(
      call,
      { name: 'greeter', domain: 'mx', isStream, address },
      {
        serve: (_, output) => void served.push(output),
        deny: (denied, error) => denied.fail(error),
      },
    )
    return { call, served }
  }
  return { source, guard, pass }
}

t.test('a granted call is served with its mx-account, a denied call returns 401', async (t) => {
  const { source, pass } = open(t)
  const metadata = `authorization: Bearer ${await source.issue(createAccount())}\r\n`
  const first = pass(metadata)
  t.same(first.served, [], 'asynchronous: the token is not verified yet')
  await waitUntil(() => first.served.length > 0)
  t.match(first.served[0], /^mx-account: \{"id":"jane"/)
  const second = pass(metadata, { address: '10.0.0.1' })
  t.match(second.served, [/^mx-address: 10\.0\.0\.1\r\nmx-account: /], 'synchronous')
  source.setRules('mx', DENY_ALL)
  await waitUntil(() => pass().call.error?.code === 401)
})

t.test('a service does not receive a cross-namespace account', async (t) => {
  const { source, pass } = open(t)
  const joe = createAccount({ id: 'joe', issuer: 'acme', scopes: ['admin'] })
  const header = `authorization: Bearer ${await source.issue(joe)}\r\n`
  for (const [metadata, hasAccount] of [
    [header, false],
    [`${header}mx-namespace: mx\r\n`, false],
    [`${header}mx-namespace: other\r\n`, false],
    [`${header}mx-namespace: acme\r\n`, true],
  ] as const)
    for (const isStream of [false, true]) {
      const { served } = pass(metadata, { isStream })
      await waitUntil(() => served.length > 0)
      t.equal(served[0]!.includes('mx-account: {"id":"joe"'), hasAccount, metadata)
    }
})

t.test(
  'a change of rules ends a long-lived call that is now denied, but not a short call',
  async (t) => {
    const { source, pass } = open(t)
    const stream = pass('', { isStream: true })
    const short = pass()
    await waitUntil(() => stream.served.length + short.served.length === 2)
    source.setRules('mx', DENY_ALL)
    await waitUntil(() => stream.call.isSettled)
    t.match(stream.call.error, { code: 401 })
    t.equal(short.call.isSettled, false)
  },
)

t.test('an error thrown while serving returns 500', async (t) => {
  const { guard } = open(t)
  const call = new TestCall('A.B')
  guard.pass(
    call,
    { name: 'greeter', domain: 'mx', isStream: false, address: '' },
    {
      serve() {
        throw new Error('broken')
      },
      deny: (denied, error) => denied.fail(error),
    },
  )
  await call.done
  t.match(call.error, { code: 500, message: 'internal error' })
})
