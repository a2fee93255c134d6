import t, { type Test } from 'tap'
import type { EventDelivery } from '../../../core/contracts/events.ts'
import { type ConsumerOptions, createConsumer } from '../../../domain/events/consumer.ts'

/** A group member with deliveries of the test; records their outcomes. */
function open(t: Test, options: Partial<ConsumerOptions> = {}) {
  const available: EventDelivery[] = []
  const calls: string[] = []
  const pulls: { limit: number; maxBytes: number }[] = []
  const errors: unknown[] = []
  const state = { ackFailure: undefined as Error | undefined, buryFailure: undefined as unknown }
  let onDelivery: () => void = () => {}
  let hasLeft = false
  const consumer = createConsumer(
    {
      async pull(limit, maxBytes) {
        pulls.push({ limit, maxBytes })
        while (available.length === 0 && !hasLeft)
          await new Promise<void>((resolve) => {
            onDelivery = resolve
          })
        return hasLeft ? [] : available.splice(0, limit)
      },
      leave() {
        hasLeft = true
        calls.push('left')
        onDelivery()
      },
    },
    {
      acks: 'owner',
      ackWaitMs: 60_000,
      retryLimit: -1,
      maxInFlight: 1000,
      bury: async ({ event }, reason) => {
        if (state.buryFailure !== undefined) throw state.buryFailure
        calls.push(`bury ${event.id} ${reason}`)
      },
      onError: (error) => errors.push(error),
      onDisconnect: () => {},
      ...options,
    },
  )
  t.teardown(() => consumer.leave())
  return {
    consumer,
    said: calls,
    pulls,
    errors,
    state,
    add(ids: readonly string[], attempt = 1, bytes = 1) {
      for (const id of ids)
        available.push({
          attempt,
          event: { id, sequence: 1, timestampMs: 1, metadata: {}, payload: new Uint8Array(bytes) },
          async ack() {
            if (state.ackFailure !== undefined) throw state.ackFailure
            calls.push(`ack ${id}`)
          },
          nack: (delayMs) => void calls.push(`nack ${id} ${delayMs}`),
        })
      onDelivery()
    },
    ids: async () => (await consumer.next()).map(({ event }) => event.id),
  }
}

const range = (count: number) => Array.from({ length: count }, (_, i) => String(i))

t.test('passes acknowledgements and rejections to the group', async (t) => {
  const { consumer, add, ids, said: calls } = open(t)
  add(['a', 'b', 'c'])
  t.strictSame(await ids(), ['a', 'b', 'c'])
  await consumer.ack('b')
  await consumer.nack('a', 7)
  await consumer.ack('a')
  await consumer.ack('unknown')
  await consumer.nack('unknown', 0)
  t.strictSame(calls, ['ack b', 'nack a 7'], 'once each')
})

t.test('pulls no more events than may be in flight', async (t) => {
  const { consumer, add, ids, pulls } = open(t, { maxInFlight: 3 })
  add(range(10))
  t.strictSame(await ids(), ['0', '1', '2'])
  const next = ids()
  await new Promise(setImmediate)
  t.equal(pulls.length, 1, 'no further pull')
  await consumer.ack('1')
  t.strictSame(await next, ['3'])
  t.strictSame(
    pulls.map(({ limit }) => limit),
    [3, 1],
  )
})

t.test('pulls no more bytes than may be in flight', async (t) => {
  const { consumer, add, ids, pulls } = open(t)
  add(['a', 'b'], 1, 16 * 1024 * 1024)
  await ids()
  const next = ids()
  add(['c'])
  await new Promise(setImmediate)
  t.equal(pulls.length, 1)
  await consumer.ack('a')
  await consumer.nack('b', 0)
  t.strictSame(await next, ['c'])
})

t.test('does not count events in flight after the acknowledgement timeout', async (t) => {
  const { consumer, add, ids, said: calls } = open(t, { maxInFlight: 2, ackWaitMs: 30 })
  add(['a', 'b', 'c'])
  t.strictSame(await ids(), ['a', 'b'])
  t.strictSame(await ids(), ['c'])
  await consumer.ack('a')
  t.strictSame(calls, ['nack a 0', 'nack b 0'], 'timed-out events are redelivered')
})

t.test('replaces the handle of an event redelivered to the same consumer', async (t) => {
  const { consumer, add, ids, said: calls } = open(t, { maxInFlight: 3, retryLimit: 1 })
  add(['a'])
  await ids()
  add(['a'], 2)
  await ids()
  await consumer.nack('a', 0)
  t.strictSame(calls, ['bury a nack'])
  add(['b', 'c', 'd'])
  t.strictSame(await ids(), ['b', 'c', 'd'], 'a redelivered event is counted once')
})

t.test('acknowledges delivered events when more are requested', async (t) => {
  const { consumer, add, ids, said: calls, state } = open(t, { acks: 'auto' })
  add(['a', 'b'])
  await ids()
  t.strictSame(calls, [])
  add(['c'])
  t.strictSame(await ids(), ['c'])
  t.strictSame(calls, ['ack a', 'ack b'])
  state.ackFailure = new Error('full')
  add(['d'])
  await ids()
  add(['e'])
  await t.rejects(ids(), { message: 'full' }, 'a failed acknowledgement rejects')
  await consumer.leave()
})

t.test('pulls in batches without acknowledgements', async (t) => {
  const { add, ids, pulls, said: calls } = open(t, { acks: 'none' })
  add(range(600))
  t.equal((await ids()).length, 512)
  t.equal((await ids()).length, 88)
  t.strictSame(pulls[0], { limit: 512, maxBytes: 1024 * 1024 })
  t.strictSame(calls, [])
})

t.test('dead-letters an event that was delivered too often and delivers the others', async (t) => {
  const { consumer, add, ids, said: calls } = open(t, { retryLimit: 2 })
  add(['a'], 4)
  add(['b'], 3)
  t.strictSame(await ids(), ['b'])
  t.strictSame(calls, ['bury a ack_wait'])
  await consumer.nack('b', 5)
  t.strictSame(calls, ['bury a ack_wait', 'bury b nack'])
  add(['c'], 2)
  await ids()
  await consumer.nack('c', 5)
  t.equal(calls.at(-1), 'nack c 5')
})

t.test('dead-letters at the first rejection if there are no retries', async (t) => {
  const { consumer, add, ids, said: calls } = open(t, { retryLimit: 0 })
  add(['a'])
  await ids()
  await consumer.nack('a', 0)
  t.strictSame(calls, ['bury a nack'])
})

t.test('reports an event that cannot be dead-lettered and redelivers it', async (t) => {
  const { consumer, add, ids, errors, state } = open(t, { retryLimit: 0 })
  state.buryFailure = new Error('full')
  add(['a'], 2)
  add(['b'])
  t.strictSame(await ids(), ['b'])
  t.match(errors, [{ message: 'full' }])
  await t.rejects(async () => consumer.nack('b', 0), { message: 'full' })
})

t.test('delivers nothing after leaving, even from a pending pull', async (t) => {
  for (const acks of ['none', 'auto', 'owner'] as const) {
    const { consumer, ids, said: calls } = open(t, { acks })
    const next = ids()
    await consumer.leave()
    t.strictSame(await next, [])
    t.strictSame(await ids(), [])
    await consumer.leave()
    t.strictSame(calls, ['left'])
  }
  const { consumer, add, ids } = open(t, { maxInFlight: 1 })
  add(['a'])
  await ids()
  const next = ids()
  await consumer.leave()
  t.strictSame(await next, [], 'even with the maximum in flight')
})
