import t, { type Test } from 'tap'
import { formatAccount } from '../../../core/auth/account-text.ts'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { Type } from '../../../core/schema.ts'
import { createDispatcher } from '../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../fixtures/auth-source.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'
import { serve, startCall, TestCall } from '../../fixtures/served-calls.ts'

const JANE = createAccount({ scopes: ['staff'] })
const ADMIN = createAccount({ id: 'admin', scopes: ['admin'] })
const STAFF_ONLY = createRule({ id: 'staff', scope: 'staff' })
const Who = Type.Object({ id: Type.String(), address: Type.String() })

function open(t: Test, service = 'greeter') {
  const source = new MemoryAuthSource()
  const authorizer = createAuthorizer(source)
  const outcome = { aborted: '', closed: false, received: [] as string[] }
  const dispatcher = createDispatcher({
    service,
    log: createQuietLog().log,
    authorizer,
    handlers: {
      A: {
        who: endpoint({
          response: Who,
          handle: (_, ctx) => ({
            id: ctx.account?.id ?? 'anonymous',
            address: findAddress(ctx.fields),
          }),
        }),
        watch: endpoint({
          response: Who,
          stream: 'server',
          async *handle(_, ctx) {
            ctx.signal.addEventListener('abort', () => {
              outcome.aborted = String(ctx.signal.reason)
            })
            try {
              yield { id: ctx.account?.id ?? 'anonymous', address: '' }
              await new Promise((resolve) =>
                ctx.signal.addEventListener('abort', resolve, { once: true }),
              )
            } finally {
              outcome.closed = true
            }
          },
        }),
        collect: endpoint({
          request: Who,
          response: Who,
          stream: 'client',
          async handle(requests, ctx) {
            for await (const { id } of requests) outcome.received.push(id)
            return { id: ctx.account?.id ?? 'anonymous', address: '' }
          },
        }),
      },
    },
  })
  t.teardown(() => {
    dispatcher.close()
    authorizer.close()
  })
  const show = async (account = JANE, extraMetadata = '', options = {}) =>
    `authorization: Bearer ${await source.issue(account, options)}\r\n${extraMetadata}`
  return { source, authorizer, dispatcher, outcome, show }
}

t.test('the account of a call comes from its token, never from an mx-account header', async (t) => {
  const { dispatcher, show } = open(t)
  const forged = `mx-account: ${formatAccount(ADMIN)}\r\n`
  const sendRequest = async (metadata: string) => {
    const call = await serve(dispatcher, 'A.Who', { metadata })
    return (call.replyJson as { id: string } | undefined)?.id ?? call.error?.code
  }
  t.equal(await sendRequest(''), 'anonymous')
  t.equal(await sendRequest(await show()), 'jane')
  t.equal(await sendRequest(forged), 'anonymous')
  t.equal(await sendRequest(`${forged}x-a: b\r\n${forged}${forged}`), 'anonymous')
  t.equal(await sendRequest(`${forged}${await show()}${forged}`), 'jane')
  t.equal(await sendRequest(`mx-account:${formatAccount(ADMIN)}\r\n`), 'anonymous')
  for (const name of ['Mx-Account', 'MX-ACCOUNT', 'mx-account ', ' mx-account'])
    t.equal(await sendRequest(`${name}: ${formatAccount(ADMIN)}\r\n`), 400, name)
  t.equal(await sendRequest(`x-a: b\nmx-account: ${formatAccount(ADMIN)}\r\n`), 400)
})

t.test(
  'only the auth service receives the caller address, never from an mx-address header',
  async (t) => {
    const forged = 'mx-address: 10.0.0.1\r\n'
    for (const [service, address] of [
      ['auth', '127.0.0.1'],
      ['greeter', ''],
    ] as const) {
      const { dispatcher } = open(t, service)
      const call = new TestCall('A.Who', { service, metadata: forged })
      dispatcher.dispatch(call, '127.0.0.1')
      await call.done
      t.same(call.replyJson, { id: 'anonymous', address })
    }
  },
)

t.test('an invalid, expired or revoked token returns 401 without the reason', async (t) => {
  const { dispatcher, source, show } = open(t)
  for (const metadata of [
    'authorization: Bearer a.b.c\r\n',
    await show(JANE, '', { nowMs: Date.now() - 3_600_000 }),
  ]) {
    const { error } = await serve(dispatcher, 'A.Who', { metadata })
    t.same(error?.toBody(), {
      Id: 'greeter',
      Code: 401,
      Detail:
        'Unauthorized call made to greeter:A.Who: invalid or expired access token; log in again',
      Status: 'Unauthorized',
    })
    t.same(error?.headers, ['www-authenticate', 'Bearer error="invalid_token"'])
  }
  const metadata = await show(JANE, '', { id: 'one' })
  t.ok((await serve(dispatcher, 'A.Who', { metadata })).replyJson)
  source.revoke('one')
  await waitUntil(async () => (await serve(dispatcher, 'A.Who', { metadata })).error?.code === 401)
})

t.test('a call denied by the rules returns 401, with or without an account', async (t) => {
  const { dispatcher, source, show } = open(t)
  source.setRules('mx', STAFF_ONLY)
  const denied = {
    Id: 'greeter',
    Code: 401,
    Detail: 'Unauthorized call made to greeter:A.Who',
    Status: 'Unauthorized',
  }
  const sendRequest = async (metadata: string, options = {}) =>
    (await serve(dispatcher, 'A.Who', { metadata, ...options })).error?.toBody()
  t.same(await sendRequest(''), denied)
  const deniedWithScope = { ...denied, Detail: `${denied.Detail}: requires the scope staff` }
  t.same(await sendRequest(await show(createAccount({ id: 'joe' }))), deniedWithScope)
  t.equal(await sendRequest(await show()), undefined)
  t.same(
    await sendRequest('', { service: 'other.greeter' }),
    denied,
    'a prefixed service name is also denied',
  )
  t.same(await sendRequest('mx-namespace: acme\r\n'), denied, 'another namespace is also denied')
  t.match(await sendRequest('mx-namespace: a b\r\n'), { Code: 400 })
})

t.test('with cached rules and keys, a call is served synchronously', async (t) => {
  const { dispatcher, show } = open(t)
  const metadata = await show()
  await serve(dispatcher, 'A.Who', { metadata })
  t.match(startCall(dispatcher, 'A.Who', { metadata }).replyJson, { id: 'jane' })
  t.match(startCall(dispatcher, 'A.Who').replyJson, { id: 'anonymous' })
})

t.test('request bodies that arrive before authorization are buffered', async (t) => {
  const { dispatcher, outcome, show } = open(t)
  const metadata = await show()
  const call = startCall(dispatcher, 'A.Collect', { metadata, more: true })
  for (const id of ['a', 'b']) call.send({ id, address: '' })
  call.end()
  await call.done
  t.same(call.replyJson, { id: 'jane', address: '' })
  t.same(outcome.received, ['a', 'b'])
})

t.test('a call cancelled before authorization does not run', async (t) => {
  const { dispatcher, outcome, show } = open(t)
  const call = startCall(dispatcher, 'A.Watch', { metadata: await show(), stream: true })
  call.cancel()
  await serve(dispatcher, 'A.Who', { metadata: await show() })
  t.equal(outcome.closed, false)
  t.equal(dispatcher.active, 0)
})

t.test('a stream ends with 401 when the rules deny it', async (t) => {
  const { dispatcher, source, outcome, show } = open(t)
  const call = startCall(dispatcher, 'A.Watch', { metadata: await show(), stream: true })
  await waitUntil(() => call.items.length === 1)
  source.setRules('mx', STAFF_ONLY)
  source.setRules('mx', createRule({ id: 'deny-all', access: 'DENIED' }))
  const startMs = performance.now()
  await waitUntil(() => call.isSettled)
  t.ok(performance.now() - startMs < 1000)
  t.match(call.error, { code: 401, message: 'Unauthorized call made to greeter:A.Watch' })
  await waitUntil(() => outcome.closed)
  t.match(outcome.aborted, 'AbortError')
  t.equal(dispatcher.active, 0)
})

t.test('a stream ends with 401 when its token is revoked or expires', async (t) => {
  const { dispatcher, source, show } = open(t)
  const revoked = startCall(dispatcher, 'A.Watch', {
    metadata: await show(JANE, '', { id: 'one' }),
    stream: true,
  })
  // Expires in one to two seconds, because clocks may differ by 30 s, and expiry has a resolution of seconds.
  const nowMs = Date.now() - 29_000
  const expiring = startCall(dispatcher, 'A.Watch', {
    metadata: await show(JANE, '', { lifeS: 1, nowMs }),
    stream: true,
  })
  await waitUntil(() => revoked.items.length + expiring.items.length === 2)
  source.revoke('one')
  await waitUntil(() => revoked.isSettled)
  t.match(revoked.error, {
    code: 401,
    message: /(?:^|: )invalid or expired access token; log in again$/,
  })
  t.equal(expiring.isSettled, false)
  await waitUntil(() => expiring.isSettled)
  t.match(expiring.error, { code: 401 })
})

t.test('a stream continues while the rules are unavailable', async (t) => {
  const { dispatcher, source, show } = open(t)
  const call = startCall(dispatcher, 'A.Watch', { metadata: await show(), stream: true })
  await waitUntil(() => call.items.length === 1)
  source.disconnect()
  source.setRules('mx', createRule({ id: 'deny-all', access: 'DENIED' }))
  await serve(dispatcher, 'A.Who')
  t.equal(call.isSettled, false)
  source.recover()
  await waitUntil(() => call.isSettled)
})

t.test('Debug.Health is public, other Debug endpoints require an administrator', async (t) => {
  const { dispatcher, source, show } = open(t)
  source.setRules('mx', createRule({ id: 'members', scope: '*' }))
  t.same((await serve(dispatcher, 'Debug.Health')).replyJson, { status: 'ok' })
  t.match((await serve(dispatcher, 'Debug.Stats')).error, { code: 401 })
  for (const method of ['Stats', 'Log', 'Trace']) {
    const metadata = await show()
    t.match((await serve(dispatcher, `Debug.${method}`, { metadata })).error, {
      id: `greeter.Debug.${method}`,
      code: 401,
      message: /^Permission denied: /,
    })
    const admin = await show(ADMIN)
    t.ok((await serve(dispatcher, `Debug.${method}`, { metadata: admin })).replyJson, method)
  }
})

t.test('trusted calls within the process retain their account', async (t) => {
  const { dispatcher, source } = open(t)
  source.setRules('mx', STAFF_ONLY)
  const call = new TestCall('A.Who', { metadata: `mx-account: ${formatAccount(ADMIN)}\r\n` })
  dispatcher.dispatchTrusted(call)
  t.match(call.replyJson, { id: 'admin' })
})

function findAddress(fields: readonly string[]): string {
  const at = fields.indexOf('mx-address')
  return at < 0 ? '' : fields[at + 1]!
}
