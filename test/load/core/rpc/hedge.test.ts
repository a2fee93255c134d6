// Deadlines of hedged calls, and their latency while few responses are slow.
import t from 'tap'
import { ServiceError } from '../../../../sdk/errors.ts'
import { AT_ONCE, answer, openHedgedGateway } from '../../../fixtures/hedged-calls.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

t.test('the deadline ends all attempts', async (t) => {
  for (const declares of [true, false])
    for (const headers of [{}, { timeout: '0.5' }]) {
      const flags = ['--reply-timeout=500ms']
      const { first, second, get, settle } = await openHedgedGateway(
        t,
        AT_ONCE,
        { flags },
        { declares },
      )
      t.equal((await get('any', headers)).status, 408)
      await waitUntil(() => first.canceled === 1 && second.canceled === 1)
      t.ok(second.calls[0]!.timeoutMs <= 500, `sent deadline: ${second.calls[0]!.timeoutMs}`)
      await settle(t)
    }
})

t.test('if the first attempt has failed, the deadline of the hedge ends the call', async (t) => {
  for (const declares of [true, false]) {
    const flags = ['--reply-timeout=500ms']
    const { first, second, get, settle } = await openHedgedGateway(
      t,
      AT_ONCE,
      { flags },
      { declares },
    )
    const reply = get()
    await waitUntil(() => second.calls.length === 1)
    first.calls[0]!.fail(new ServiceError('greeter', 500, 'no'))
    t.equal((await reply).status, 408)
    await waitUntil(() => second.canceled === 1)
    t.equal(first.calls.length, 1)
    await settle(t)
  }
})

t.test('a stream of a hedge ends with the deadline requested by the client', async (t) => {
  const { first, second, get, settle } = await openHedgedGateway(t)
  const reply = get('stream', { timeout: '0.5' })
  await waitUntil(() => second.calls.length === 1)
  second.calls[0]!.sendData('{}')
  t.match(await (await reply).text(), /^\{\}\n.*408/)
  t.equal(first.canceled, 1)
  await waitUntil(() => second.canceled === 1)
  await settle(t)
})

const CALLS = 1000
const CONCURRENCY = 10
const SLOW_MS = 2000

t.test(
  'with 1% slow responses, p99 falls at least 5 times at no more than 2% extra calls',
  async (t) => {
    /** Returns the 99th percentile of the latencies, and the number of calls that the nodes received. */
    const measure = async (max: number) => {
      let received = 0
      const policies = { hedge: { after: 100, max } }
      const { get, settle } = await openHedgedGateway(
        t,
        policies,
        {},
        {
          serve: (call) => {
            received++
            if (received % 100 === 0) setTimeout(() => answer(call, 'slow'), SLOW_MS)
            else answer(call, 'fast')
          },
        },
      )
      const latencies: number[] = []
      let left = CALLS
      const client = async () => {
        while (left-- > 0) {
          const startMs = performance.now()
          const reply = await get()
          await reply.text()
          if (reply.status === 200) latencies.push(performance.now() - startMs)
        }
      }
      await Promise.all(Array.from({ length: CONCURRENCY }, client))
      await settle(t)
      t.equal(latencies.length, CALLS, 'every call succeeds')
      latencies.sort((a, b) => a - b)
      return { p99Ms: latencies[CALLS * 0.99]!, received }
    }
    const without = await measure(0)
    const hedged = await measure(1)
    t.equal(without.received, CALLS)
    t.ok(hedged.p99Ms * 5 <= without.p99Ms, `${hedged.p99Ms} ms instead of ${without.p99Ms} ms`)
    t.ok(hedged.received <= CALLS * 1.02, `${hedged.received} calls`)
  },
)
