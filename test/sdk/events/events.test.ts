import t, { type Test } from 'tap'
import { createLmdbEvents } from '../../../adapters/events/lmdb.ts'
import { createContext } from '../../../sdk/context.ts'
import { createEvents, type EventsConsumeOptions } from '../../../sdk/events/events.ts'
import type { ConsumedEvent } from '../../../sdk/events/platform-event.ts'
import { openPlatformEvents } from '../../fixtures/platform-events.ts'
import { createService, openRegistry } from '../../fixtures/sdk-services.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

async function open(t: Test, options: Parameters<typeof openPlatformEvents>[1] = {}) {
  const platform = await openPlatformEvents(t, options)
  const events = createEvents(platform.client)
  return {
    ...platform,
    events,
    /** Consumes this number of events, then leaves. */
    async consumeEvents(
      topic: string,
      count: number,
      options: EventsConsumeOptions,
    ): Promise<ConsumedEvent[]> {
      const consumed: ConsumedEvent[] = []
      for await (const event of events.consume(topic, options))
        if (consumed.push(event) === count) break
      return consumed
    },
  }
}

t.test(
  'a published event is read with id, sequence, metadata, timestamp and payload',
  async (t) => {
    const { events } = await open(t)
    const timestamp = new Date(1_700_000_000_123)
    const first = await events.publish('orders', { total: 1 }, { metadata: { a: 'b' }, timestamp })
    t.match(first, { id: /^[0-9a-f-]{36}$/, sequence: 1 })
    await events.publish('orders', new Uint8Array([1, 2]))
    const [one, two, ...others] = await events.read('orders')
    t.strictSame(others, [])
    t.match(one, { ...first, topic: 'orders', metadata: { a: 'b' }, timestamp })
    t.strictSame(one!.unmarshal(), { total: 1 })
    t.strictSame([...two!.payload], [1, 2])
    t.strictSame(await events.read('nothing'), [])
    t.match(await events.topics(), [{ topic: 'orders', first: 1, last: 2, bytes: Number }])
    await events.deleteTopic('orders')
    t.strictSame(await events.topics(), [])
  },
)

t.test('read has a start and a limit across pages', async (t) => {
  const { events } = await open(t)
  await Promise.all(
    Array.from({ length: 2300 }, (_, i) =>
      events.publish('a', i, { timestamp: new Date(10_000 + i) }),
    ),
  )
  const read = async (options: object) => {
    const result = await events.read('a', options)
    return [result.length, result[0]?.sequence, result.at(-1)?.sequence]
  }
  t.strictSame(await read({}), [250, 1, 250])
  t.strictSame(await read({ limit: 0 }), [2300, 1, 2300])
  t.strictSame(await read({ limit: 1500, offset: 10 }), [1500, 10, 1509])
  t.strictSame(await read({ offset: new Date(12_000), limit: 0 }), [300, 2001, 2300])
  t.strictSame(await read({ offset: 5000 }), [0, undefined, undefined])
  await events.publish('a', 'late', { timestamp: new Date(1) })
  t.strictSame(await read({ limit: 0 }), [2301, 2301, 2300], 'ordered by timestamp across pages')
})

t.test('a channel starts at a sequence, a time or new events', async (t) => {
  const { events, consumeEvents } = await open(t)
  for (const ms of [1000, 3000, 2000]) await events.publish('a', ms, { timestamp: new Date(ms) })
  const messages = async (count: number, options: EventsConsumeOptions) =>
    (await consumeEvents('a', count, options)).map((event) => event.unmarshal())
  t.strictSame(await messages(3, { offset: 1 }), [1000, 3000, 2000])
  t.strictSame(await messages(1, { offset: 3 }), [2000])
  t.strictSame(await messages(2, { offset: new Date(2000) }), [3000, 2000])
  t.strictSame(await messages(3, { offset: new Date(0) }), [1000, 3000, 2000])
  const channel = events.consume('a')
  const next = channel.next()
  // The start of the consumer is not observable, so events are published until it receives one.
  let isReceived = false
  void next.then(() => {
    isReceived = true
  })
  while (!isReceived) await events.publish('a', 'new')
  t.equal((await next).value!.unmarshal(), 'new')
  await channel.return!()
})

t.test(
  'a group continues after the acknowledged events; requesting the next event acknowledges',
  async (t) => {
    const { events, consumeEvents } = await open(t)
    for (const n of [1, 2, 3, 4]) await events.publish('a', n)
    const group = { group: 'g', offset: 1 }
    const toPairs = (consumed: readonly ConsumedEvent[]) =>
      consumed.map((event) => [event.unmarshal(), event.attempt])
    t.strictSame(toPairs(await consumeEvents('a', 2, group)), [
      [1, 1],
      [2, 1],
    ])
    t.strictSame(toPairs(await consumeEvents('a', 3, group)), [
      [2, 2],
      [3, 2],
      [4, 2],
    ])
    await events.deleteGroup('a', 'g')
    await events.deleteGroup('a', 'g')
    t.strictSame(toPairs(await consumeEvents('a', 1, group)), [[1, 1]])
  },
)

t.test('exiting a loop acknowledges all events except the last one', async (t) => {
  const { events, call, consumeEvents } = await open(t)
  for (let i = 1; i <= 40; i++) await events.publish('a', i)
  for (const first of [1, 10, 19, 28]) {
    const consumed = await consumeEvents('a', 10, { group: 'g', offset: 1 })
    t.strictSame(
      consumed.map(({ sequence }) => sequence),
      Array.from({ length: 10 }, (_, i) => first + i),
    )
  }
  const group = { group: 'g', acked: 36, pending: 0 }
  t.strictSame(await call('Stream.Groups', { topic: 'a' }), { groups: [group] })
  t.match(await events.topics({ groups: true }), [{ topic: 'a', groups: [{ ...group, lag: 4 }] }])
  t.notMatch(await events.topics(), [{ groups: Array }])
})

t.test('ack and nack control redelivery, and an exhausted event is dead-lettered', async (t) => {
  const { events, consumeEvents } = await open(t)
  for (const n of [1, 2, 3]) await events.publish('a', n)
  const options = { group: 'g', offset: 1, autoAck: false, retryLimit: 1 }
  const received: string[] = []
  for await (const event of events.consume('a', options)) {
    const n = event.unmarshal()
    received.push(`${n} ${event.attempt}`)
    if (n === 2) await event.nack(received.length > 3 ? {} : { delayMs: 1 })
    else await event.ack()
    if (received.length === 4) break
  }
  t.strictSame(received, ['1 1', '2 1', '3 1', '2 2'])
  const [dead] = await consumeEvents('a.dead', 1, { offset: 1 })
  t.equal(dead!.unmarshal(), 2)
  t.match(dead!.metadata, { 'dead-topic': 'a', 'dead-group': 'g', 'dead-attempts': '2' })
})

t.test('an event without acknowledgement is redelivered after ackWaitMs', async (t) => {
  const { events, consumeEvents } = await open(t)
  await events.publish('a', 1)
  const consumed = await consumeEvents('a', 2, { offset: 1, autoAck: false, ackWaitMs: 30 })
  t.strictSame(
    consumed.map(({ attempt }) => attempt),
    [1, 2],
  )
})

t.test('with maxInFlight 1, a redelivery precedes the next event', async (t) => {
  const { events, consumeEvents } = await open(t)
  for (const n of [1, 2]) await events.publish('a', n)
  const options = { group: 'g', offset: 1, autoAck: false, ackWaitMs: 30, maxInFlight: 1 }
  const consumed = await consumeEvents('a', 2, options)
  t.strictSame(
    consumed.map(({ sequence, attempt }) => `${sequence} ${attempt}`),
    ['1 1', '1 2'],
  )
})

t.test(
  'a loop that starts immediately after another one receives the events in order',
  async (t) => {
    const adapter = createLmdbEvents({ folder: makeTempFolder(t, 'events') })
    const { events, consumeEvents } = await open(t, { adapter })
    await Promise.all(Array.from({ length: 200 }, (_, n) => events.publish('a', n)))
    for (const maxInFlight of [1, 64]) {
      const sequences: number[][] = []
      for (let i = 0; i < 20; i++) {
        const consumed = await consumeEvents('a', 2, {
          group: `g${maxInFlight}`,
          offset: 1,
          maxInFlight,
        })
        sequences.push(consumed.map(({ sequence }) => sequence))
      }
      // The last event of a loop is not acknowledged.
      t.strictSame(
        sequences,
        Array.from({ length: 20 }, (_, i) => [i + 1, i + 2]),
        `${maxInFlight} in flight`,
      )
    }
  },
)

t.test('topics belong to the namespace of the call, context or events object', async (t) => {
  const registry = openRegistry(t)
  const { events: platform } = await openPlatformEvents(t, { registry })
  const greeter = createService(t, { registry })
  await greeter.start()
  t.teardown(() => greeter.client.close())
  const events = createEvents(greeter)
  await events.publish('a', 1)
  const context = createContext({ metadata: { 'mx-namespace': 'foo' } })
  await events.publish('a', 2, { context })
  await createEvents(greeter, { namespace: 'bar' }).publish('a', 3)
  t.strictSame(
    (await platform.listTopics()).map(({ namespace }) => namespace),
    ['bar', 'foo', 'mx'],
  )
  for await (const event of events.consume('a', { context, offset: 1 })) {
    t.equal(event.unmarshal(), 2)
    break
  }
})

t.test('unknown options and malformed values are rejected', async (t) => {
  const { events } = await open(t)
  const unknown = { name: 'TypeError', message: /unknown option/ }
  await t.rejects(events.publish('a', 1, { retain: true } as object), unknown)
  t.throws(() => events.consume('a', { queue: 'x' } as object), unknown)
  await t.rejects(events.read('a', { prefix: 'x' } as object), unknown)
  t.throws(() => createEvents({} as never, { topic: 'x' } as object), unknown)
  t.throws(() => events.consume('a', { offset: 0 }), {
    message: 'offset must be a Date, or a sequence from 1 on, got 0',
  })
  await t.rejects(events.publish('a', 1, { timestamp: new Date(-1) }), {
    message: /^timestamp must be a Date from 1970 on/,
  })
  await t.rejects(events.publish('', 1), { name: 'ServiceError', code: 400 })
  await t.rejects(events.consume('a b').next(), { name: 'ServiceError', code: 400 })
  await t.rejects(events.consume('a', { autoAck: false, ackWaitMs: 0 }).next(), { code: 400 })
})

t.test('stopping a service ends its loops', async (t) => {
  const registry = openRegistry(t)
  await openPlatformEvents(t, { registry })
  const greeter = createService(t, { registry })
  await greeter.start()
  const events = createEvents(greeter)
  await events.publish('a', 1)
  const loops = [{ group: 'g' }, {}, { autoAck: false }].map((options) =>
    events.consume('a', { ...options, offset: 1 }),
  )
  for (const loop of loops) t.equal((await loop.next()).value.unmarshal(), 1)
  const pending = loops.map((loop) => loop.next())
  await greeter.stop()
  for (const next of pending) t.match(await next, { done: true })
  t.match(await loops[0]!.next(), { done: true })
})
