import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type {
  EventDelivery,
  EventGroup,
  EventMember,
  EventRange,
  EventStart,
  EventsAdapter,
  EventTopic,
  NewEvent,
  StoredEvent,
  TopicState,
} from '../../core/contracts/events.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'

/** An empty event store to test. */
export interface EventsSubject {
  readonly adapter: EventsAdapter
  /** Reopens the data of a closed adapter. Absent if the adapter is not persistent. */
  readonly reopen?: () => Maybe<EventsAdapter>
  /** Opens another adapter for the same events, like another server. Absent if adapters share no events. */
  readonly open?: () => Maybe<EventsAdapter>
}

const ORDERS: EventTopic = { namespace: 'mx', topic: 'orders' }
const OTHER: EventTopic = { namespace: 'mx', topic: 'other.v1' }
const ALL: EventRange = { from: 1, limit: 100_000, maxBytes: 1e9 }
const FROM_START: EventStart = { sequence: 1 }
/** Longer than any test. */
const LONG_MS = 60_000
/** Short enough for tests to wait for it. */
const SHORT_MS = 250
const UNLIMITED = 1e9

/** Contract of adapters without `createEvents`; optional capabilities are tested if present. */
export function testEvents(t: Test, create: (t: Test) => Maybe<EventsSubject>): void {
  const open = async (t: Test): Promise<EventsSubject> => {
    const subject = await create(t)
    t.teardown(() => subject.adapter.close?.())
    return subject
  }

  t.test('contract: returns nothing for a topic without events', async (t) => {
    const { adapter } = await open(t)
    const { events, next } = await adapter.read(ORDERS, ALL)
    t.same([events, next], [[], undefined])
    t.same(await adapter.listTopics(), [])
    t.same(await adapter.listTopics('mx'), [])
    t.same((await adapter.listGroups?.(ORDERS)) ?? [], [])
    t.notOk(await adapter.deleteGroup?.(ORDERS, 'none'))
    t.notOk(await adapter.retain?.(ORDERS, { maxAgeMs: 1, maxBytes: 1 }, Date.now()))
    t.same(await adapter.append([]), [])
  })

  t.test('contract: numbers events of a topic from 1 without gaps', async (t) => {
    const { adapter } = await open(t)
    t.same(
      await adapter.append([
        { topic: ORDERS, event: make('a') },
        { topic: OTHER, event: make('x') },
        { topic: ORDERS, event: make('b') },
      ]),
      [1, 1, 2],
    )
    t.same(await append(adapter, ORDERS, ['c', 'd']), [3, 4])
    t.same(await append(adapter, OTHER, ['y']), [2])
    t.same(listTexts(await readAll(adapter, ORDERS)), ['a', 'b', 'c', 'd'])
    t.same(listTexts(await readAll(adapter, OTHER)), ['x', 'y'])
  })

  t.test('contract: reads an event as it was appended', async (t) => {
    const { adapter } = await open(t)
    const events: NewEvent[] = [
      make(
        Uint8Array.from({ length: 256 }, (_, i) => i),
        {
          metadata: { 'content-type': 'a/b', été: '\u0001 "\u{1f600}\r\n', empty: '' },
        },
      ),
      make(new Uint8Array(0)),
      make(new Uint8Array(512 * 1024).fill(7), { timestampMs: 1 }),
      make('late', { timestampMs: 8.64e15 }),
    ]
    await adapter.append(events.map((event) => ({ topic: ORDERS, event })))
    const result = await readAll(adapter, ORDERS)
    for (const [index, event] of result.entries()) {
      t.same(
        { ...event, metadata: { ...event.metadata }, payload: Buffer.from(event.payload) },
        {
          ...events[index]!,
          payload: Buffer.from(events[index]!.payload),
          sequence: index + 1,
        },
      )
    }
    t.equal(result.length, events.length)
    t.equal(Buffer.from(result[0]!.payload).compare(events[0]!.payload), 0, 'unchanged')
  })

  t.test('contract: keeps the order of events in a batch', async (t) => {
    const { adapter } = await open(t)
    const texts = Array.from({ length: 1500 }, (_, i) => String(i))
    t.same(
      await append(adapter, ORDERS, texts),
      texts.map((_, i) => i + 1),
    )
    t.same(listTexts(await readAll(adapter, ORDERS)), texts)
  })

  t.test(
    'contract: reads a range with start and limits and returns where to continue',
    async (t) => {
      const { adapter } = await open(t)
      await append(adapter, ORDERS, ['aa', 'bb', 'cc', 'dd', 'ee'])
      const read = async (range: Partial<EventRange>) => {
        const { events, next } = await adapter.read(ORDERS, { ...ALL, ...range })
        return [...listTexts(events), next]
      }
      t.same(await read({ from: 3 }), ['cc', 'dd', 'ee', undefined])
      t.same(await read({ limit: 2 }), ['aa', 'bb', 3])
      t.same(await read({ from: 4, limit: 2 }), ['dd', 'ee', undefined])
      t.same(await read({ from: 2, maxBytes: 1 }), ['bb', 3])
      t.same(await read({ from: 2, maxBytes: 3 }), ['bb', 'cc', 4])
      t.same(await read({ from: 6 }), [undefined])
      t.same(await read({ from: 1000 }), [undefined])
    },
  )

  t.test(
    'contract: skips events with a timestamp before the given time, in any order',
    async (t) => {
      const { adapter } = await open(t)
      await appendAt(adapter, ORDERS, [10, 30, 20, 50, 40, 60, 5])
      const since = async (sinceMs: number) =>
        listTexts(await readAll(adapter, ORDERS, { sinceMs })).map(Number)
      t.same(await since(0), [10, 30, 20, 50, 40, 60, 5])
      t.same(await since(20), [30, 20, 50, 40, 60])
      t.same(await since(40), [50, 40, 60])
      t.same(await since(60), [60])
      t.same(await since(61), [])
    },
  )

  t.test('contract: lists topics by namespace, then by name', async (t) => {
    const { adapter } = await open(t)
    const topics = [
      { namespace: 'a', topic: 'z' },
      { namespace: 'a', topic: 'z.dead' },
      { namespace: 'a', topic: 'z_1' },
      { namespace: 'a-b', topic: 'A' },
      { namespace: 'mx', topic: 'Orders.v1-x_y' },
    ]
    for (const topic of topics.toReversed()) await append(adapter, topic, ['1', '2'])
    const list = async (namespace?: string) =>
      (await adapter.listTopics(namespace)).map(({ namespace, topic, first, last, bytes }) => ({
        namespace,
        topic,
        first,
        last,
        hasBytes: bytes > 0,
      }))
    const expected = topics.map((topic) => ({ ...topic, first: 1, last: 2, hasBytes: true }))
    t.same(await list(), expected)
    t.same(await list('a'), expected.slice(0, 3))
    t.same(await list('none'), [])
    t.same(
      listTexts(await readAll(adapter, { namespace: 'b', topic: 'z' })),
      [],
      'no topics in other namespaces',
    )
  })

  t.test('contract: delivers every event once without acknowledgements', async (t) => {
    const { adapter } = await open(t)
    await append(adapter, ORDERS, ['a', 'b', 'c'])
    const all = await join(t, adapter, { start: FROM_START })
    const later = await join(t, adapter, { start: { sequence: 3 } })
    const newOnly = await join(t, adapter, {})
    const ahead = await join(t, adapter, { start: { sequence: 5 } })
    await append(adapter, ORDERS, ['d', 'e'])
    t.same(await receive(all, 5), ['a', 'b', 'c', 'd', 'e'])
    t.same(await receive(later, 3), ['c', 'd', 'e'])
    t.same(await receive(newOnly, 2), ['d', 'e'])
    t.same(await receive(ahead, 1), ['e'])
    await append(adapter, ORDERS, ['f'])
    for (const member of [all, later, newOnly, ahead]) t.same(await receive(member, 1), ['f'])
  })

  t.test('contract: starts a group at a time', async (t) => {
    const { adapter } = await open(t)
    for (const [topic, ackWaitMs] of [
      [ORDERS, undefined],
      [OTHER, LONG_MS],
    ] as const) {
      await appendAt(adapter, topic, [10, 30, 20, 40])
      const since = await join(t, adapter, { ackWaitMs, start: { sinceMs: 20 } }, topic)
      t.same(await receive(since, 3), ['30', '20', '40'])
      const both = await join(t, adapter, { ackWaitMs, start: { sequence: 3, sinceMs: 30 } }, topic)
      t.same(await receive(both, 1), ['40'])
      const future = await join(t, adapter, { ackWaitMs, start: { sinceMs: 100 } }, topic)
      await appendAt(adapter, topic, [15, 100, 50])
      t.same(await receive(future, 1), ['100'], 'later events are skipped, too')
      t.same(await receive(since, 2), ['100', '50'])
    }
  })

  t.test('contract: a pull waits for an event', async (t) => {
    const { adapter } = await open(t)
    for (const ackWaitMs of [undefined, LONG_MS]) {
      const member = await join(t, adapter, { ackWaitMs })
      const pulling = receive(member, 1)
      await append(adapter, ORDERS, ['a'])
      t.same(await pulling, ['a'])
    }
  })

  t.test('contract: a pull respects its limits', async (t) => {
    const { adapter } = await open(t)
    await append(adapter, ORDERS, ['aa', 'bb', 'cc', 'dd', 'ee'])
    for (const ackWaitMs of [undefined, LONG_MS]) {
      const member = await join(t, adapter, { ackWaitMs, start: FROM_START })
      t.ok((await pullSome(member, 2)).length <= 2)
      t.equal((await pullSome(member, 10, 1)).length, 1, 'one event of any length')
    }
  })

  t.test('contract: delivers nothing to a member after it left', async (t) => {
    const { adapter } = await open(t)
    for (const ackWaitMs of [undefined, LONG_MS]) {
      const member = await join(t, adapter, { ackWaitMs })
      const pulling = member.pull(1, UNLIMITED)
      await member.leave()
      t.same(await pulling, [])
      await append(adapter, ORDERS, ['a'])
      t.same(await member.pull(1, UNLIMITED), [])
      await member.leave()
    }
  })

  t.test('contract: delivers every event to one member of each group', async (t) => {
    const { adapter } = await open(t)
    const first = await join(t, adapter, { name: 'shared', ackWaitMs: LONG_MS })
    const second = await join(t, adapter, { name: 'shared', ackWaitMs: LONG_MS })
    const single = await join(t, adapter, { name: 'alone', ackWaitMs: LONG_MS })
    const otherTopic = await join(t, adapter, { name: 'shared', ackWaitMs: LONG_MS }, OTHER)
    const texts = Array.from({ length: 100 }, (_, i) => String(i))
    await append(adapter, ORDERS, texts)
    await append(adapter, OTHER, ['x'])
    const received: string[][] = [[], []]
    await Promise.all(
      [first, second].map(async (member, index) => {
        while (received[0]!.length + received[1]!.length < texts.length) {
          const pulled = await Promise.race([
            member.pull(7, UNLIMITED),
            isFull(received, texts.length),
          ])
          for (const delivery of pulled) received[index]!.push(getText(delivery.event))
        }
      }),
    )
    t.same(
      received.flat().sort((a, b) => Number(a) - Number(b)),
      texts,
    )
    for (const part of received)
      t.same(
        part,
        part.toSorted((a, b) => Number(a) - Number(b)),
        'in order',
      )
    t.same(await receive(single, 100), texts)
    t.same(await receive(otherTopic, 1), ['x'])
  })

  t.test('contract: redelivers only events that were not acknowledged', async (t) => {
    const { adapter } = await open(t)
    await append(adapter, ORDERS, ['a', 'b', 'c', 'd', 'e'])
    const group = { name: 'group', ackWaitMs: LONG_MS, start: FROM_START }
    const first = await join(t, adapter, group)
    const deliveries = await receiveAll(first, 4)
    t.same(
      deliveries.map(({ attempt }) => attempt),
      [1, 1, 1, 1],
    )
    await deliveries[2]!.ack()
    await deliveries[0]!.ack()
    await deliveries[0]!.ack()
    await first.leave()
    const second = await join(t, adapter, { ...group, start: {} })
    const repeated = await receiveAll(second, 3)
    t.same(repeated.map(toPair), ['b 2', 'd 2', 'e 1'])
    for (const delivery of repeated) await delivery.ack()
    await append(adapter, ORDERS, ['f'])
    t.same(await receive(second, 1), ['f'])
  })

  t.test(
    'contract: redelivers an event to any member after the acknowledgement timeout',
    async (t) => {
      const { adapter } = await open(t)
      await append(adapter, ORDERS, ['a', 'b'])
      const group = { name: 'group', ackWaitMs: SHORT_MS, start: FROM_START }
      const first = await join(t, adapter, group)
      const second = await join(t, adapter, group)
      const [a, b] = await receiveAll(first, 2)
      await b!.ack()
      const [repeated] = await receiveAll(second, 1)
      t.equal(toPair(repeated!), 'a 2')
      await a!.nack(0)
      await a!.ack()
      await append(adapter, ORDERS, ['c'])
      // Without the late acknowledgement it would be the next event, because its ack timeout expires first.
      const c = await receiveAll(second, 1)
      t.equal(toPair(c[0]!), 'c 1')
      const after = await receiveAll(first, 1)
      t.equal(toPair(after[0]!), 'c 2')
      await after[0]!.ack()
    },
  )

  t.test('contract: redelivers a rejected event immediately or after a delay', async (t) => {
    const { adapter } = await open(t)
    await append(adapter, ORDERS, ['a', 'b', 'c'])
    const member = await join(t, adapter, { name: 'g', ackWaitMs: LONG_MS, start: FROM_START })
    const [a] = await receiveAll(member, 1)
    await a!.nack(0)
    const [a2] = await receiveAll(member, 1)
    t.equal(toPair(a2!), 'a 2', 'before later events')
    const nackedMs = performance.now()
    await a2!.nack(SHORT_MS)
    const [b, c] = await receiveAll(member, 2)
    t.same([b!, c!].map(toPair), ['b 1', 'c 1'])
    await b!.ack()
    await b!.nack(0)
    const [a3] = await receiveAll(member, 1)
    t.equal(toPair(a3!), 'a 3')
    t.ok(performance.now() - nackedMs > SHORT_MS * 0.9, 'not before its time')
    await a3!.ack()
    await c!.nack(0)
    t.equal(toPair((await receiveAll(member, 1))[0]!), 'c 2', 'an acknowledged event is settled')
  })

  t.test(
    'contract: redelivers pending events of a leaving member immediately, in order',
    async (t) => {
      const { adapter } = await open(t)
      const texts = Array.from({ length: 10 }, (_, i) => String(i))
      await append(adapter, ORDERS, texts)
      const group = { name: 'group', ackWaitMs: LONG_MS, start: FROM_START }
      const member = await join(t, adapter, group)
      const [first] = await receiveAll(member, 10)
      await first!.nack(0)
      await receiveAll(member, 1)
      const waiting = member.pull(1, UNLIMITED)
      await member.leave()
      t.same(await waiting, [])
      const other = await join(t, adapter, group)
      t.same(
        (await receiveAll(other, 10)).map(toPair),
        texts.map((text) => `${text} ${text === '0' ? 3 : 2}`),
      )
    },
  )

  t.test('contract: deletes a group without a name when its member leaves', async (t) => {
    const { adapter } = await open(t)
    await append(adapter, ORDERS, ['a', 'b'])
    const group = { ackWaitMs: LONG_MS, start: FROM_START }
    const first = await join(t, adapter, group)
    for (const delivery of await receiveAll(first, 2)) await delivery.ack()
    await first.leave()
    const second = await join(t, adapter, group)
    const [a] = await receiveAll(second, 1)
    t.equal(toPair(a!), 'a 1')
    await a!.nack(0)
    t.equal(toPair((await receiveAll(second, 1))[0]!), 'a 2')
    t.same((await adapter.listGroups?.(ORDERS)) ?? [], [])
  })

  t.test('contract: lists and deletes groups', async (t) => {
    const { adapter } = await open(t)
    if (adapter.listGroups === undefined || adapter.deleteGroup === undefined) {
      t.pass('the adapter does not list groups')
      return
    }
    await append(adapter, ORDERS, ['a', 'b', 'c'])
    const group = { name: 'b', ackWaitMs: LONG_MS, start: FROM_START }
    const member = await join(t, adapter, group)
    await join(t, adapter, { ...group, name: 'a' })
    await join(t, adapter, { ...group, name: 'elsewhere' }, OTHER)
    const [first] = await receiveAll(member, 2)
    await first!.ack()
    t.same(await adapter.listGroups(ORDERS), [
      { name: 'a', acked: 0, pending: 0 },
      { name: 'b', acked: 1, pending: 1 },
    ])
    await receiveAll(member, 1)
    const rejected = t.rejects(member.pull(1, UNLIMITED), {
      code: 410,
      message: 'the group b was deleted',
    })
    t.equal(await adapter.deleteGroup(ORDERS, 'b'), true)
    await rejected
    t.equal(await adapter.deleteGroup(ORDERS, 'b'), false)
    t.same(
      (await adapter.listGroups(ORDERS)).map(({ name }) => name),
      ['a'],
    )
    const rejoined = await join(t, adapter, group)
    t.same((await receiveAll(rejoined, 3)).map(toPair), ['a 1', 'b 1', 'c 1'])
  })

  t.test('contract: limits a topic by bytes', async (t) => {
    const { adapter } = await open(t)
    if (adapter.retain === undefined) return void t.pass('the adapter has no retention')
    const texts = Array.from({ length: 40 }, (_, i) => String(i).padEnd(1000, '.'))
    await append(adapter, ORDERS, texts)
    await append(adapter, OTHER, texts)
    const [before] = await adapter.listTopics()
    const limit = before!.bytes / 2
    await retain(adapter, ORDERS, { maxAgeMs: 0, maxBytes: limit })
    const [after, other] = await adapter.listTopics()
    t.ok(after!.first > 10 && after!.first <= 22, `first is ${after!.first}`)
    t.equal(after!.last, 40)
    t.ok(after!.bytes <= limit)
    t.equal(other!.first, 1)
    const result = await readAll(adapter, ORDERS)
    t.same(listTexts(result), texts.slice(after!.first - 1))
    t.equal(result[0]!.sequence, after!.first)
    const member = await join(t, adapter, { start: FROM_START })
    t.same(
      await receive(member, 1),
      [texts[after!.first - 1]],
      'a group starts with the first retained event',
    )
    t.same(await append(adapter, ORDERS, ['more']), [41])
  })

  t.test(
    'contract: redelivers retained events to groups after retention removed other events',
    async (t) => {
      const { adapter } = await open(t)
      if (adapter.retain === undefined) return void t.pass('the adapter has no retention')
      const group = { name: 'group', ackWaitMs: LONG_MS, start: FROM_START }
      const member = await join(t, adapter, group)
      const single = await join(t, adapter, { ackWaitMs: LONG_MS, start: FROM_START })
      const late = await join(t, adapter, { ...group, name: 'late', ackWaitMs: SHORT_MS })
      const texts = Array.from({ length: 40 }, (_, i) => String(i).padEnd(1000, '.'))
      await append(adapter, ORDERS, texts)
      const [pending, ungrouped] = [await receiveAll(member, 40), await receiveAll(single, 40)]
      await receiveAll(late, 40)
      for (const deliveries of [pending, ungrouped]) await deliveries[39]!.nack(0)
      const [{ bytes }] = (await adapter.listTopics()) as [TopicState]
      await retain(adapter, ORDERS, { maxAgeMs: 0, maxBytes: bytes / 2 })
      const [{ first }] = (await adapter.listTopics()) as [TopicState]
      t.ok(first > 1)
      for (const deliveries of [pending, ungrouped]) await deliveries[38]!.nack(0)
      for (const consumer of [member, single])
        t.same(
          await takeSequences(consumer, 2),
          [39, 40],
          'events that were rejected, before or after',
        )
      await member.leave()
      const retained = Array.from({ length: 41 - first }, (_, i) => first + i)
      const other = await join(t, adapter, group)
      t.same(
        await takeSequences(other, retained.length),
        retained,
        'events in flight at a closed member',
      )
      t.same(
        await takeSequences(late, retained.length),
        retained,
        'events that were not acknowledged in time',
      )
    },
  )

  t.test('contract: limits a topic by age', async (t) => {
    const { adapter } = await open(t)
    if (adapter.retain === undefined) return void t.pass('the adapter has no retention')
    const group = { name: 'group', ackWaitMs: LONG_MS, start: FROM_START }
    const member = await join(t, adapter, group)
    await append(adapter, ORDERS, ['a', 'b'])
    const pending = await receiveAll(member, 1)
    await retain(adapter, ORDERS, { maxAgeMs: LONG_MS, maxBytes: 0 })
    t.same(listTexts(await readAll(adapter, ORDERS)), ['a', 'b'])
    const isEmpty = async (): Promise<boolean> => {
      await retain(adapter, ORDERS, { maxAgeMs: SHORT_MS, maxBytes: 0 })
      return (await readAll(adapter, ORDERS)).length === 0
    }
    while (!(await isEmpty())) await new Promise((resolve) => setTimeout(resolve, 20))
    const [topic] = await adapter.listTopics()
    t.match(topic, { ...ORDERS, first: 3, last: 2 })
    await retain(adapter, ORDERS, { maxAgeMs: 0, maxBytes: 0 })
    t.same(await append(adapter, ORDERS, ['c']), [3], 'sequences continue')
    t.same(await receive(member, 1), ['c'], 'an event beyond the retention is not delivered')
    await pending[0]!.ack()
  })

  t.test('contract: a topic is created by its first event or named group', async (t) => {
    const { adapter } = await open(t)
    await join(t, adapter, { name: 'group', ackWaitMs: LONG_MS })
    t.match(await adapter.listTopics(), [{ ...ORDERS, first: 1, last: 0 }])
    t.same(await append(adapter, ORDERS, ['a']), [1])
    t.match(await adapter.listTopics(), [{ ...ORDERS, first: 1, last: 1 }])
  })

  t.test('contract: deletes an unused topic', async (t) => {
    const { adapter } = await open(t)
    if (adapter.retain === undefined) return void t.pass('the adapter has no retention')
    const retention = { maxAgeMs: SHORT_MS, maxBytes: 0 }
    const group = await join(t, adapter, { name: 'group', ackWaitMs: LONG_MS })
    const single = await join(t, adapter, {}, OTHER)
    for (const topic of [ORDERS, OTHER]) await append(adapter, topic, ['a'])
    /** Whether the topic exists with a clock advanced by `ms`. */
    const exists = async (topic: EventTopic, ms: number): Promise<boolean> => {
      while (await adapter.retain!(topic, retention, Date.now() + ms));
      return (await adapter.listTopics()).some(
        ({ namespace, topic: name }) => namespace === topic.namespace && name === topic.topic,
      )
    }
    for (const topic of [ORDERS, OTHER]) {
      while ((await readAll(adapter, topic)).length > 0) await exists(topic, 0)
      t.ok(await exists(topic, 10 * SHORT_MS), 'it has a group, or a member')
    }
    await group.leave()
    t.ok(await exists(ORDERS, 10 * SHORT_MS), 'it has a group')
    await adapter.deleteGroup!(ORDERS, 'group')
    await single.leave()
    // An adapter may wait until the last member has left.
    for (const topic of [ORDERS, OTHER])
      while (await exists(topic, 10 * SHORT_MS))
        await new Promise((resolve) => setTimeout(resolve, 20))
    t.same(await append(adapter, ORDERS, ['b']), [1], 'sequences restart at 1')
    t.ok(await exists(ORDERS, 0))
  })

  t.test(
    'contract: a new group of the same name does not receive acknowledgements of a deleted group',
    async (t) => {
      const { adapter } = await open(t)
      if (adapter.deleteGroup === undefined) return void t.pass('the adapter cannot delete groups')
      const group = { name: 'group', ackWaitMs: LONG_MS, start: FROM_START }
      const member = await join(t, adapter, group)
      await append(adapter, ORDERS, ['a', 'b', 'c'])
      const pending = await receiveAll(member, 3)
      await adapter.deleteGroup(ORDERS, 'group')
      const next = await join(t, adapter, group)
      await pending[0]!.nack(0)
      t.same(await receive(next, 3), ['a', 'b', 'c'], 'each event is delivered once')
      await pending[0]!.ack()
      await pending[1]!.nack(0)
      await member.leave()
      t.match(await adapter.listGroups?.(ORDERS), [{ acked: 0, pending: 3 }])
      await append(adapter, ORDERS, ['d'])
      t.same(await receive(next, 1), ['d'], 'no event is redelivered')
    },
  )

  t.test('contract: deletes a topic with its events and groups', async (t) => {
    const { adapter } = await open(t)
    if (adapter.deleteTopic === undefined) return void t.pass('the adapter cannot delete topics')
    t.equal(await adapter.deleteTopic(ORDERS), false)
    const texts = Array.from({ length: 2500 }, (_, i) => String(i))
    await append(adapter, ORDERS, texts)
    await append(adapter, OTHER, ['other'])
    const group = { name: 'group', ackWaitMs: LONG_MS, start: FROM_START }
    const members = [
      await join(t, adapter, group),
      await join(t, adapter, {}),
      await join(t, adapter, { ackWaitMs: LONG_MS }),
    ]
    const [pending] = await receiveAll(members[0]!, 2500)
    const rejected = members.map((member) =>
      t.rejects(member.pull(1, UNLIMITED), { code: 410, message: 'the topic orders was deleted' }),
    )
    t.equal(await adapter.deleteTopic(ORDERS), true)
    await Promise.all(rejected)
    t.equal(await adapter.deleteTopic(ORDERS), false)
    await pending!.ack()
    t.match(await adapter.listTopics(), [OTHER])
    t.same(await readAll(adapter, ORDERS), [])
    t.same((await adapter.listGroups?.(ORDERS)) ?? [], [])
    t.same(listTexts(await readAll(adapter, OTHER)), ['other'])
    const rejoined = await join(t, adapter, group)
    t.same(await append(adapter, ORDERS, ['a', 'b']), [1, 2])
    t.same((await receiveAll(rejoined, 2)).map(toPair), ['a 1', 'b 1'])
  })

  t.test('contract: delivers nothing after close', async (t) => {
    const { adapter } = await create(t)
    const members = [
      await adapter.join(ORDERS, toGroup({})),
      await adapter.join(ORDERS, toGroup({ ackWaitMs: LONG_MS })),
      await adapter.join(ORDERS, toGroup({ name: 'group', ackWaitMs: LONG_MS })),
    ]
    const pulls = members.map((member) => member.pull(1, UNLIMITED))
    await adapter.close?.()
    t.same(await Promise.all(pulls), [[], [], []])
  })

  t.test('contract: restores stored events after reopening', async (t) => {
    const { adapter, reopen } = await create(t)
    if (reopen === undefined) {
      await adapter.close?.()
      return void t.pass('the adapter is not persistent')
    }
    const texts = Array.from({ length: 50 }, (_, i) => String(i))
    await append(adapter, ORDERS, texts)
    const group = { name: 'group', ackWaitMs: LONG_MS, start: FROM_START }
    const since = { name: 'since', ackWaitMs: LONG_MS, start: { sinceMs: 1e15 } }
    await join(t, adapter, { ...group, name: 'new', start: {} })
    await join(t, adapter, since)
    const member = await join(t, adapter, group)
    const deliveries = await receiveAll(member, 20)
    const isAcked = (i: number): boolean => i < 5 || i % 3 === 0
    for (const [i, delivery] of deliveries.entries()) if (isAcked(i)) await delivery.ack()
    await adapter.close?.()

    const repeated = await reopen()
    t.teardown(() => repeated.close?.())
    t.same(listTexts(await readAll(repeated, ORDERS)), texts)
    t.match(await repeated.listTopics(), [{ ...ORDERS, first: 1, last: 50 }])
    t.same(await append(repeated, ORDERS, ['50']), [51])
    await appendAt(repeated, ORDERS, [1e15])
    const remaining = [...texts.filter((_, i) => i >= 20 || !isAcked(i)), '50', String(1e15)]
    const result = await receiveAll(await join(t, repeated, group), remaining.length)
    t.same(listTexts(result.map(({ event }) => event)), remaining)
    for (const { event, attempt } of result)
      t.ok(attempt <= (event.sequence <= 20 ? 2 : 1), `${getText(event)}: ${attempt}`)
    t.same(await receive(await join(t, repeated, { ...group, name: 'new' }), 2), [
      '50',
      String(1e15),
    ])
    t.same(await receive(await join(t, repeated, since), 1), [String(1e15)])
  })

  t.test('contract: a topic deleted by another server is deleted for all', async (t) => {
    const { adapter, open: openOther } = await open(t)
    if (openOther === undefined) return void t.pass('there is only one server')
    const other = await openOther()
    t.teardown(() => other.close?.())
    await append(adapter, ORDERS, ['a'])
    const members = [
      await join(t, adapter, { name: 'group', ackWaitMs: LONG_MS, start: FROM_START }),
      await join(t, adapter, { start: FROM_START }),
      await join(t, adapter, { ackWaitMs: LONG_MS, start: FROM_START }),
    ]
    for (const member of members) await receive(member, 1)
    const rejected = members.map((member) => t.rejects(pullSome(member, 1), { code: 410 }))
    // Pulls that have reached the server end immediately, others later.
    await adapter.listTopics()
    t.equal(await other.deleteTopic!(ORDERS), true)
    t.same(await append(other, ORDERS, ['b']), [1])
    await Promise.all(rejected)
    t.same(await append(adapter, ORDERS, ['c']), [2])
  })

  t.test('contract: servers share events and groups', async (t) => {
    const { adapter, open: openAnother } = await open(t)
    if (openAnother === undefined) return void t.pass('there is only one server')
    const other = await openAnother()
    t.teardown(() => other.close?.())
    const group = { name: 'group', ackWaitMs: LONG_MS }
    const first = await join(t, adapter, group)
    const newOnly = await join(t, other, {})
    t.same(await append(adapter, ORDERS, ['a']), [1])
    t.same(await append(other, ORDERS, ['b']), [2])
    t.same(await receive(newOnly, 2), ['a', 'b'])
    const [a, b] = await receiveAll(first, 2)
    await a!.ack()
    const second = await join(t, other, group)
    await b!.nack(0)
    const [repeated] = await receiveAll(second, 1)
    t.equal(toPair(repeated!), 'b 2')
    await repeated!.ack()
    const texts = Array.from({ length: 200 }, (_, i) => String(i))
    await Promise.all([
      append(adapter, ORDERS, texts.slice(0, 100)),
      append(other, ORDERS, texts.slice(100)),
    ])
    const received: string[][] = [[], []]
    await Promise.all(
      [first, second].map(async (member, index) => {
        while (received[0]!.length + received[1]!.length < 200) {
          const pulled = await Promise.race([member.pull(7, UNLIMITED), isFull(received, 200)])
          for (const { event } of pulled) received[index]!.push(getText(event))
        }
      }),
    )
    t.same(
      received.flat().sort((a, b) => Number(a) - Number(b)),
      texts,
      'each event is delivered to one member',
    )
  })
}

function make(payload: string | Uint8Array, overrides: Partial<NewEvent> = {}): NewEvent {
  return {
    id: randomUUID(),
    timestampMs: Date.now(),
    metadata: {},
    payload: typeof payload === 'string' ? Buffer.from(payload) : payload,
    ...overrides,
  }
}

/** Appends a batch and returns the sequences. */
async function append(
  adapter: EventsAdapter,
  topic: EventTopic,
  texts: readonly string[],
): Promise<readonly unknown[]> {
  return adapter.append(texts.map((text) => ({ topic, event: make(text) })))
}

/** Events with these timestamps, which are also their payloads. */
async function appendAt(
  adapter: EventsAdapter,
  topic: EventTopic,
  times: readonly number[],
): Promise<void> {
  await adapter.append(
    times.map((timestampMs) => ({ topic, event: make(String(timestampMs), { timestampMs }) })),
  )
}

async function readAll(
  adapter: EventsAdapter,
  topic: EventTopic,
  range: Partial<EventRange> = {},
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  let from: number | undefined = 1
  while (from !== undefined) {
    const slice = await adapter.read(topic, { ...ALL, ...range, from })
    events.push(...slice.events)
    from = slice.next
  }
  return events
}

function toGroup({ name, start = {}, ackWaitMs }: Partial<EventGroup>): EventGroup {
  return { name, start, ackWaitMs }
}

async function join(
  t: Test,
  adapter: EventsAdapter,
  group: Partial<EventGroup>,
  topic = ORDERS,
): Promise<EventMember> {
  const member = await adapter.join(topic, toGroup(group))
  t.teardown(() => member.leave())
  return member
}

/** Pulls until events arrive. */
async function pullSome(
  member: EventMember,
  limit: number,
  maxBytes = UNLIMITED,
): Promise<readonly EventDelivery[]> {
  // An adapter need not keep the process alive.
  const keepAlive = setInterval(() => {}, 1000)
  try {
    for (;;) {
      const deliveries = await member.pull(limit, maxBytes)
      if (deliveries.length > 0) return deliveries
    }
  } finally {
    clearInterval(keepAlive)
  }
}

async function receiveAll(member: EventMember, count: number): Promise<EventDelivery[]> {
  const received: EventDelivery[] = []
  while (received.length < count)
    received.push(...(await pullSome(member, count - received.length)))
  return received
}

/** Sequences of the next `count` events, in order; redelivered events count once. */
async function takeSequences(member: EventMember, count: number): Promise<number[]> {
  const sequences = new Set<number>()
  while (sequences.size < count)
    for (const { event } of await pullSome(member, count)) sequences.add(event.sequence)
  return [...sequences].sort((a, b) => a - b)
}

/** Payloads of the next events, as text. */
async function receive(member: EventMember, count: number): Promise<string[]> {
  return (await receiveAll(member, count)).map(({ event }) => getText(event))
}

async function retain(
  adapter: EventsAdapter,
  topic: EventTopic,
  retention: Parameters<NonNullable<EventsAdapter['retain']>>[1],
): Promise<void> {
  while (await adapter.retain!(topic, retention, Date.now()));
}

/** Resolves with undefined at the end: other members may have received the last events. */
async function isFull(
  received: readonly string[][],
  count: number,
): Promise<readonly EventDelivery[]> {
  await waitUntil(() => received.flat().length >= count)
  return []
}

function getText({ payload }: StoredEvent): string {
  return Buffer.from(payload).toString()
}

function listTexts(events: readonly StoredEvent[]): string[] {
  return events.map(getText)
}

/** Payload and attempt number of an event. */
function toPair({ event, attempt }: EventDelivery): string {
  return `${getText(event)} ${attempt}`
}
