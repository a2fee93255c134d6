import t, { type Test } from 'tap'
import { createLink } from '../../../../adapters/registry/mx/link.ts'
import {
  invalidToken,
  isInvalidToken,
  toAccessDenied,
} from '../../../../core/auth/policy/decision.ts'
import type { TokenSource } from '../../../../core/contracts/token-source.ts'
import { GatewayError } from '../../../../core/errors.ts'
import type { IncomingCall } from '../../../../core/rpc/call.ts'
import { findMetadata } from '../../../../core/rpc/metadata.ts'
import { Channel } from '../../../../core/rpc/ws/channel.ts'
import { createTokenSource } from '../../../../sdk/auth/token-source.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { openRpcService } from '../../../fixtures/rpc-service.ts'

const A = { service: 'a' }
const B = { service: 'b' }

/** A link to a service that starts every watch by default. */
async function open(
  t: Test,
  timeoutMs = 1000,
  tokens?: TokenSource,
  mustLogIn = tokens !== undefined,
) {
  const calls: IncomingCall[] = []
  const cancelled: number[] = []
  const remote = { respond: (call: IncomingCall): void => call.start('') }
  const { port } = await openRpcService(t, (call) => {
    const n = calls.push(call)
    call.receiver = { ...call.receiver, onCancel: () => cancelled.push(n) }
    remote.respond(call)
  })
  const channel = new Channel({ host: '127.0.0.1', port })
  t.teardown(() => channel.close())
  const events: string[] = []
  const link = createLink({
    channel,
    timeoutMs,
    ...{ tokens, mustLogIn },
    onOpen: (hasFailedBefore) => {
      events.push(hasFailedBefore ? 'open again' : 'open')
      link.caughtUp()
    },
    onMessage: (message) => events.push(JSON.stringify(message)),
    onOutage: (reason) => events.push(reason === undefined ? 'back' : `out ${reason.code}`),
  })
  t.teardown(() => link.setRequest(undefined))
  const requests = () => calls.map(({ endpoint }) => endpoint).length
  return { link, calls, cancelled, remote, events, requests }
}

t.test('opens the requested watch and does not wait without one', async (t) => {
  const { link, events, requests } = await open(t)
  await link.opened()
  t.equal(requests(), 0)
  link.setRequest(A)
  link.setRequest(A)
  await link.opened()
  t.same(events, ['open'])
  t.equal(requests(), 1)
})

t.test('replaces the watch for another request', async (t) => {
  const { link, events, cancelled, calls } = await open(t)
  link.setRequest(A)
  await link.opened()
  link.setRequest(B)
  await link.opened()
  t.same(events, ['open', 'open'])
  calls[1]!.sendData('{"n":1}')
  await waitUntil(() => events.length === 3 && cancelled.length === 1)
  t.same(cancelled, [1])
  link.setRequest(undefined)
  await waitUntil(() => cancelled.length === 2)
  t.equal(events.length, 3, 'a requested end is not an outage')
})

t.test('reopens a lost watch and reports the outage', async (t) => {
  const { link, events, calls } = await open(t)
  link.setRequest(A)
  await link.opened()
  calls[0]!.endData()
  await waitUntil(() => events.includes('open again'))
  t.same(events, ['open', 'out 503', 'open again', 'back'])
})

t.test('retries immediately for a waiter and rejects it with the reason', async (t) => {
  const { link, events, remote, requests } = await open(t)
  remote.respond = (call) => call.fail(new GatewayError('registry', 403, 'no'))
  link.setRequest(A)
  for (let i = 1; i <= 20; i++) {
    await t.rejects(link.opened(), { code: 403 })
    t.ok(requests() >= i)
  }
  t.same(events, ['out 403'], 'the outage is reported once')
  remote.respond = (call) => call.start('')
  await link.opened()
  t.same(events, ['out 403', 'open again', 'back'])
})

t.test('fails a watch that does not open in time', async (t) => {
  const { link, remote, cancelled } = await open(t, 30)
  remote.respond = () => {}
  link.setRequest(A)
  await t.rejects(link.opened(), { code: 408, message: 'the watch did not open within 30 ms' })
  await waitUntil(() => cancelled.length > 0)
})

t.test('increases the pauses between attempts', async (t) => {
  const waits: number[] = []
  const { setTimeout: real } = globalThis
  t.capture(globalThis, 'setTimeout', ((run: () => void, ms: number) => {
    // Jittered values are not integers.
    if (Number.isInteger(ms)) return real(run, ms)
    waits.push(ms)
    return real(run, 0)
  }) as never)
  const { link, remote } = await open(t)
  remote.respond = (call) => call.endData()
  link.setRequest(A)
  await waitUntil(() => waits.length >= 12)
  link.setRequest(undefined)
  for (const [i, ms] of waits.slice(0, 12).entries()) {
    const maximum = Math.min(100 * 2 ** i, 5000)
    t.ok(ms >= maximum / 2 && ms <= maximum, `${ms} ms of ${maximum}`)
  }
})

/** A registry that accepts the last issued token only. */
function rejectLogins(remote: { respond: (call: IncomingCall) => void }) {
  const state = { issued: 0, shown: [] as (string | undefined)[], refusal: undefined as unknown }
  remote.respond = (call) => {
    const token = findMetadata(call.metadata, 'authorization')
    state.shown.push(token)
    if (token === `Bearer t${state.issued}`) call.start('')
    else if (token === undefined)
      call.fail(
        toAccessDenied(
          { type: 'service', name: 'registry', endpoint: 'Registry.Watch' },
          undefined,
        ),
      )
    else call.fail(invalidToken('registry'))
  }
  const logIn = async () => {
    if (state.refusal !== undefined) throw state.refusal
    const token = `t${++state.issued}`
    return { token: { access_token: token, refresh_token: 'r', created: 0, expiry: 900 } }
  }
  const tokens = createTokenSource({ isImplicit: false, logIn, refresh: logIn })
  return { state, tokens }
}

t.test('waits for a token after a rejection and sends it', async (t) => {
  const remote = { respond: (_: IncomingCall): void => {} }
  const { state, tokens } = rejectLogins(remote)
  const opened = await open(t, 1000, tokens, false)
  opened.remote.respond = remote.respond
  const { link, events, calls } = opened
  link.setRequest(A)
  await Promise.all([link.opened(), link.opened()])
  t.same([events, state.shown], [['open'], [undefined, 'Bearer t1']])
  // Its token has expired.
  state.issued = 9
  calls.at(-1)!.fail(invalidToken('registry'))
  await waitUntil(() => events.length > 1)
  t.same(events, ['open', 'open again'], 'a stream that ends with its token is not an outage')
  t.equal(state.shown.at(-1), 'Bearer t10')
})

t.test('reports a failed login as the reason for an outage', async (t) => {
  const remote = { respond: (_: IncomingCall): void => {} }
  const { state, tokens } = rejectLogins(remote)
  state.refusal = new GatewayError('auth', 400, 'Secret not correct')
  const opened = await open(t, 1000, tokens, false)
  opened.remote.respond = remote.respond
  opened.link.setRequest(A)
  await t.rejects(opened.link.opened(), { code: 400, message: 'Secret not correct' })
  t.same(opened.events, ['out 400'])
})

t.test('stops retrying when every token is rejected', async (t) => {
  const { tokens } = rejectLogins({ respond: () => {} })
  const { link, remote, requests } = await open(t, 1000, tokens, false)
  remote.respond = (call) => call.fail(invalidToken('registry'))
  link.setRequest(A)
  const rejected = await link.opened().then(
    () => undefined,
    (error: GatewayError) => error,
  )
  t.ok(rejected !== undefined && isInvalidToken(rejected))
  t.equal(requests(), 2)
})

t.test('limits the wait for a token by the timeout', async (t) => {
  const endless = { current: () => undefined, remainingMs: () => 0, isRejected: () => true }
  const tokens = { ...endless, ready: () => new Promise<void>(() => {}) }
  const { link, remote, requests, events } = await open(t, 50, tokens, false)
  remote.respond = (call) => call.fail(new GatewayError('registry', 401, 'who?'))
  link.setRequest(A)
  await t.rejects(link.opened(), { code: 408, message: 'the watch did not open within 50 ms' })
  t.same([requests(), events], [1, ['out 408']])
  link.setRequest(undefined)
})

t.test('reopens the watch when its owner fails to synchronize', async (t) => {
  const { link, events } = await open(t)
  link.setRequest(A)
  await link.opened()
  link.fail(new GatewayError('registry', 502, 'its list does not end'))
  await waitUntil(() => events.includes('open again'))
  t.same(events, ['open', 'out 502', 'open again', 'back'])
})

t.test('opens a watch that requires an account after the login', async (t) => {
  let logIn: () => void = () => {}
  let fail: (reason: Error) => void = () => {}
  let token: string | undefined
  const tokens: TokenSource = {
    current: () => token,
    remainingMs: () => 0,
    ready: () =>
      new Promise((resolve, reject) => {
        logIn = resolve
        fail = reject
      }),
    isRejected: () => false,
  }
  const { link, calls, events } = await open(t, 60_000, tokens)
  link.setRequest(A)
  t.same(calls, [])
  fail(new GatewayError('auth', 503, 'unavailable'))
  await waitUntil(() => events.length > 0)
  t.same(events, ['out 503'])
  const opened = link.opened()
  token = 'a.b.c'
  logIn()
  await opened
  t.match(calls, [{ metadata: 'authorization: Bearer a.b.c\r\n' }])
})
