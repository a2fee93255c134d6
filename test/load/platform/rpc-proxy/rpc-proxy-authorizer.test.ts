import t, { type Test } from 'tap'
import { formatAccount } from '../../../../core/auth/account-text.ts'
import { createAuthorizer } from '../../../../core/auth/authorizer.ts'
import type { Dispatch } from '../../../../core/rpc/call.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { testCalls } from '../../../contracts/calls.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../../fixtures/auth-source.ts'
import { RecordedCall } from '../../../fixtures/rpc.ts'
import { type Form, openCaller, openPort, openProxy, toNode } from '../../../fixtures/rpc-proxy.ts'
import { createService } from '../../../fixtures/sdk-services.ts'

const FORMS: readonly Form[] = ['mx', 'http']
const JANE = createAccount({ scopes: ['staff'] })
const ADMIN = createAccount({ id: 'admin', scopes: ['admin'] })
const STAFF_ONLY = createRule({ id: 'staff', scope: 'staff' })

function openGate(t: Test) {
  const source = new MemoryAuthSource()
  const authorizer = createAuthorizer(source)
  t.teardown(authorizer.close)
  return { source, authorizer }
}

for (const later of [false, true])
  t.test(
    `forwards allowed calls unchanged${later ? ', even after an asynchronous lookup' : ''}`,
    (t) => {
      const { authorizer } = openGate(t)
      testCalls(t, {
        async open(t, dispatch) {
          const { port } = await openPort(t, dispatch)
          const proxy = await openProxy(t, { helloworld: [toNode(port)] }, { authorizer })
          if (!later) return openCaller(t, proxy.port, 'mx')
          const find = async (service: string) => proxy.upstreams.get(service)
          const second = await openProxy(t, {}, { authorizer, find })
          return openCaller(t, second.port, 'mx')
        },
        isFast: true,
        maxBuffered: later ? 1575 : 1050,
      })
      t.end()
    },
  )

/** A service without an authorizer behind a proxy with one, and the calls that it receives. */
async function openService(t: Test, { form = 'mx' as Form, domain = 'mx' } = {}) {
  const { source, authorizer } = openGate(t)
  const events: string[] = []
  let cancelled = 0
  const dispatch: Dispatch = (call) => {
    events.push(call.metadata)
    if (call.endpoint !== 'A.Watch') return call.reply('', '{}')
    call.receiver = {
      onData: () => {},
      onEnd: () => {},
      onCredit: () => {},
      onCancel: () => void cancelled++,
    }
    call.sendData('{}')
  }
  const { port } = await openPort(t, dispatch)
  const nodes = { greeter: [toNode(port, form)] }
  const proxy = await openProxy(t, nodes, { authorizer, upstream: { domain } })
  const caller = openCaller(t, proxy.port, 'mx')
  const send = (metadata: string, fields = {}) => {
    const call = new RecordedCall({ service: 'greeter', endpoint: 'A.B', metadata, ...fields })
    caller.call(call)
    return call
  }
  /** Error of the call, undefined on success. */
  const sendRequest = async (metadata: string) => {
    const call = send(metadata)
    await waitUntil(() => call.events.length > 0)
    return call.error
  }
  const show = async (account = JANE) => `authorization: Bearer ${await source.issue(account)}\r\n`
  return { source, events, sendRequest, send, show, counts: () => ({ cancelled }) }
}

for (const form of FORMS)
  t.test(
    `a service with ${form} receives the caller of the token and no other identity`,
    async (t) => {
      const { events, sendRequest, show } = await openService(t, { form })
      const forged = `mx-account: ${formatAccount(ADMIN)}\r\nmx-address: 10.0.0.1\r\n`
      for (const metadata of [forged, `${forged}x-a: b\r\n${forged}`]) {
        await sendRequest(metadata)
        t.notMatch(events.at(-1), /admin|10\.0/)
      }
      const token = await show()
      await sendRequest(`${forged}${token}${forged}`)
      t.match(events.at(-1), `mx-account: ${formatAccount(JANE)}\r\n`)
      t.match(events.at(-1), token)
      t.notMatch(events.at(-1), /admin|10\.0/)
      const count = events.length
      for (const name of ['Mx-Account', 'MX-ACCOUNT', ' mx-account', 'mx-account '])
        t.match(await sendRequest(`${name}: ${formatAccount(ADMIN)}\r\n`), { code: 400 }, name)
      t.equal(events.length, count)
    },
  )

t.test(
  'Debug endpoints are restricted to administrators, even without authentication in the service',
  async (t) => {
    const { events, send, show } = await openService(t, { domain: 'acme' })
    const sendRequest = async (endpoint: string, metadata: string) => {
      const call = send(metadata, { endpoint })
      await waitUntil(() => call.events.length > 0)
      return call.error?.code ?? 200
    }
    const tenant = createAccount({ id: 'ann', issuer: 'acme', scopes: ['admin'] })
    t.equal(await sendRequest('Debug.Health', ''), 200)
    for (const [metadata, code] of [
      ['', 401],
      [await show(), 403],
      [await show(createAccount({ issuer: 'acme' })), 401],
      [await show(tenant), 200],
      [await show(ADMIN), 200],
    ] as const)
      for (const endpoint of ['Debug.Log', 'Debug.Trace', 'Debug.Stats'])
        t.equal(await sendRequest(endpoint, metadata), code, endpoint)
    t.equal(events.length, 7)
  },
)

t.test('does not forward denied calls', async (t) => {
  const { source, events, sendRequest, show } = await openService(t)
  source.setRules('mx', STAFF_ONLY)
  const denied = { id: 'greeter', code: 401, message: 'Unauthorized call made to greeter:A.B' }
  t.match(await sendRequest(''), denied)
  t.match(await sendRequest(await show(createAccount())), denied)
  t.match(await sendRequest('mx-namespace: acme\r\n'), denied)
  t.match(await sendRequest('authorization: Bearer a.b.c\r\n'), {
    code: 401,
    message: /(?:^|: )invalid or expired access token; log in again$/,
  })
  t.same(events, [])
  t.equal(await sendRequest(await show()), undefined)
})

t.test('applies the rules of the namespace of a service', async (t) => {
  const { source, sendRequest } = await openService(t, { domain: 'acme' })
  source.setRules('mx', STAFF_ONLY)
  t.equal(await sendRequest('mx-namespace: acme\r\n'), undefined)
  source.setRules('acme', STAFF_ONLY)
  await waitUntil(async () => (await sendRequest('mx-namespace: acme\r\n'))?.code === 401)
})

t.test('ends a stream within a second of a denying rule', async (t) => {
  const { source, send, show, counts } = await openService(t)
  const call = send(await show(), { endpoint: 'A.Watch', stream: true })
  await waitUntil(() => call.events.length === 1)
  source.setRules('mx', createRule({ id: 'deny-all', access: 'DENIED' }))
  await waitUntil(() => call.error !== undefined, 1000)
  t.match(call.error, { code: 401, message: 'Unauthorized call made to greeter:A.Watch' })
  await waitUntil(() => counts().cancelled === 1)
})

t.test('authorizes calls of hosted services once, by the service', async (t) => {
  const { source, authorizer } = openGate(t)
  source.setRules('mx', STAFF_ONLY)
  const proxy = await openProxy(t, {}, { authorizer })
  const getCaller = endpoint({ handle: (_, ctx) => ctx.account?.id ?? 'anonymous' })
  await createService(t, { name: 'own', host: proxy, authorizer })
    .handle('A', { getCaller })
    .start()
  const sendRequest = (headers: Record<string, string>) =>
    fetch(`http://${proxy.address}`, {
      method: 'POST',
      headers: { 'mx-service': 'own', 'mx-endpoint': 'A.GetCaller', ...headers },
    })
  const denied = await sendRequest({ 'mx-account': formatAccount(ADMIN) })
  t.equal(denied.status, 401)
  t.equal(denied.headers.get('www-authenticate'), 'Bearer')
  const reply = await sendRequest({ authorization: `Bearer ${await source.issue(JANE)}` })
  t.equal(await reply.json(), 'jane')
})
