// Hedged calls of clients; calls of the gateway: test/core/rpc/hedge.test.ts.
import t, { type Test } from 'tap'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import { answer, type HedgedNodesOptions, openHedgedNodes } from '../../fixtures/hedged-calls.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { openClient, openRegistry } from '../../fixtures/sdk-services.ts'

async function open(t: Test, policies: object = {}, options: HedgedNodesOptions = {}) {
  keepAlive(t)
  const metadata = { 'mx/policies': JSON.stringify({ hedge: { after: '1ms' }, ...policies }) }
  const { first, second, entry } = await openHedgedNodes(t, { metadata, ...options })
  const registry = openRegistry(t)
  void registry.register!(entry)
  const client = openClient(t, { registry })
  const call = (endpoint: string, options = {}) =>
    client.call(entry.name, `Greeter.${endpoint}`, {}, options)
  const settle = async (t: Test) => {
    await waitUntil(() => deadlines.size === 0)
    t.pass('all attempts have ended')
  }
  return { first, second, call, settle, client, entry }
}

for (const protocol of ['mx', 'http'] as const) {
  t.test(`${protocol}: the first response wins and cancels the other attempt`, async (t) => {
    const { first, second, call, settle } = await open(t, {}, { protocol })
    for (const [winner, loser] of [
      [second, first],
      [first, second],
    ] as const) {
      const reply = call('Read')
      await waitUntil(() => first.calls.length === 1 && second.calls.length === 1)
      answer(winner.calls[0], 'winner')
      t.strictSame(await reply, { name: 'winner' })
      await waitUntil(() => loser.canceled === 1)
      first.calls.length = second.calls.length = 0
    }
    t.strictSame([first.canceled, second.canceled], [1, 1])
    await settle(t)
  })
}

t.test('an attempt that fails does not affect the other one', async (t) => {
  for (const code of [404, 500, 503])
    for (const isHedge of [true, false]) {
      const { first, second, call, settle } = await open(t)
      const reply = call('Read')
      await waitUntil(() => second.calls.length === 1)
      const [failing, other] = isHedge ? [second, first] : [first, second]
      failing.calls[0]!.fail(new ServiceError('greeter', code, 'no'))
      // Sent after the failure, so that the client has received it.
      const later = call('Any')
      await waitUntil(() => first.calls.length === 2)
      answer(first.calls[1], 'later')
      await later
      answer(other.calls[0], 'other')
      t.strictSame(await reply, { name: 'other' })
      t.equal(first.calls.length + second.calls.length, 3)
      await settle(t)
    }
})

t.test('a lost connection does not affect the other attempt', async (t) => {
  const { first, second, call, settle } = await open(t)
  const reply = call('Read')
  await waitUntil(() => second.calls.length === 1)
  first.cut()
  await waitUntil(() => first.canceled === 1)
  answer(second.calls[0], 'second')
  t.strictSame(await reply, { name: 'second' })
  await settle(t)
})

t.test('if all attempts fail, the call is retried and returns the last error', async (t) => {
  const { first, second, call, settle } = await open(t)
  const reply = call('Read')
  await waitUntil(() => second.calls.length === 1)
  for (const { calls } of [first, second]) calls[0]!.fail(new ServiceError('greeter', 500, 'no'))
  await waitUntil(() => first.calls.length + second.calls.length === 3)
  const retried = first.calls[1] ?? second.calls[1]
  retried!.fail(new ServiceError('greeter', 500, 'retry'))
  await t.rejects(reply, { code: 500, message: 'retry' })
  await settle(t)
})

t.test('a canceled call cancels all attempts', async (t) => {
  const { first, second, call, settle } = await open(t)
  const controller = new AbortController()
  const reply = call('Read', { signal: controller.signal })
  await waitUntil(() => second.calls.length === 1)
  controller.abort(new Error('stop'))
  await t.rejects(reply, { message: 'stop' })
  await waitUntil(() => first.canceled === 1 && second.canceled === 1)
  await settle(t)
})

t.test('the deadline ends all attempts', async (t) => {
  const { first, second, call, settle } = await open(t)
  await t.rejects(call('Read', { timeoutMs: 300 }), { code: 408 })
  await waitUntil(() => first.canceled === 1 && second.canceled === 1)
  t.ok(second.calls[0]!.timeoutMs <= 300)
  const reply = call('Read', { timeoutMs: 300 })
  await waitUntil(() => second.calls.length === 2)
  first.calls[1]!.fail(new ServiceError('greeter', 500, 'no'))
  await t.rejects(reply, { code: 408 }, 'the deadline of the hedge')
  await settle(t)
})

t.test('only calls of repeatable endpoints are hedged, and none without retries', async (t) => {
  const { first, second, call, client, entry } = await open(t)
  const single = [
    () => call('Any'),
    () => call('Once'),
    () => call('Read', { retries: 0 }),
    () => client.stream(entry.name, 'Greeter.Stream', {}).next(),
  ]
  for (const send of single) {
    const reply = send()
    await waitUntil(() => first.calls.length === 1)
    const other = call('Same')
    await waitUntil(() => second.calls.length === 1)
    t.equal(first.calls.length, 2, 'the hedge of the call that was sent later')
    for (const sent of [...first.calls, ...second.calls]) answer(sent, 'reply')
    await Promise.allSettled([reply, other])
    first.calls.length = second.calls.length = 0
  }
})

t.test('the retry budget limits hedges', async (t) => {
  const retry = { budget: '0%', min_concurrency: 1 }
  const { first, second, call, settle } = await open(t, { retry })
  const replies = Array.from({ length: 3 }, () => call('Read'))
  await waitUntil(() => first.calls.length === 3 && second.calls.length === 1)
  for (const sent of first.calls) answer(sent, 'first')
  await Promise.all(replies)
  t.equal(second.calls.length, 1)
  await settle(t)
})
