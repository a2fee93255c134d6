import t, { type Test } from 'tap'
import { createMemoryEvents } from '../../../adapters/events/memory.ts'
import type { EventAppend, EventsAdapter, EventTopic } from '../../../core/contracts/events.ts'
import { eventsError } from '../../../domain/events/errors.ts'
import { createEvents, type Events, type EventsOptions } from '../../../domain/events/events.ts'

const TOPIC: EventTopic = { namespace: 'mx', topic: 'orders' }
const PAYLOAD = Buffer.from('payload')

function open(t: Test, options: EventsOptions = {}, adapter: Partial<EventsAdapter> = {}) {
  const clock = { ms: 1_000_000 }
  const nowMs = () => clock.ms
  const memory = createMemoryEvents({ nowMs })
  const events = createEvents(
    { ...memory, ...adapter },
    { nowMs, retainMs: 1, onError: (error) => t.error(error), ...options },
  )
  t.teardown(events.close)
  return { events, clock, memory }
}

const publish = (events: Events, overrides: object = {}, topic = TOPIC) =>
  events.publish(topic, { payload: PAYLOAD, ...overrides })

async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 1))
}

t.test('assigns id, sequence and time to a published event', async (t) => {
  const { events, clock } = open(t)
  const first = await publish(events)
  clock.ms -= 500
  const second = await publish(events)
  const third = await publish(events, { timestampMs: 5, metadata: { a: 'b' } })
  t.strictSame([first.sequence, second.sequence, third.sequence], [1, 2, 3])
  t.equal(new Set([first.id, second.id, third.id]).size, 3)
  t.match(first.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  t.strictSame(
    [first.timestampMs, second.timestampMs, third.timestampMs],
    [1_000_000, 1_000_000, 5],
    'timestamps do not decrease if the clock is set back',
  )
  const { events: stored } = await events.read(TOPIC)
  t.match(
    stored,
    [{ ...third, metadata: { a: 'b' } }, first, second],
    'ordered by timestamp, then by sequence',
  )
})

t.test('batches events published in one tick', async (t) => {
  const batches: number[] = []
  const memory = createMemoryEvents()
  const append = (batch: readonly EventAppend[]) => {
    batches.push(batch.length)
    return memory.append(batch)
  }
  const { events } = open(t, {}, { ...memory, append })
  await publish(events)
  const published = await Promise.all(Array.from({ length: 500 }, () => publish(events)))
  t.strictSame(batches, [1, 500])
  t.equal(new Set(published.map(({ sequence }) => sequence)).size, 500)
})

t.test('fails a single event or the complete batch', async (t) => {
  const outcome = { failing: undefined as Error | undefined }
  const { events } = open(
    t,
    {},
    {
      append: (batch) => {
        if (outcome.failing !== undefined) throw outcome.failing
        return batch.map((_, i) => (i === 1 ? eventsError(507, 'no room') : i + 1))
      },
    },
  )
  const results = await Promise.allSettled([1, 2, 3].map(() => publish(events)))
  t.match(results, [{ status: 'fulfilled' }, { reason: { code: 507 } }, { status: 'fulfilled' }])
  outcome.failing = eventsError(503, 'unavailable')
  for (const publication of [publish(events), publish(events)])
    await t.rejects(publication, { code: 503 })
})

t.test('rejects invalid events and stores nothing', async (t) => {
  const { events } = open(t, { maxPayloadBytes: 10 })
  const expectRejected = (publication: object, topic: EventTopic, code: number, message: RegExp) =>
    t.rejects(events.publish(topic, { payload: PAYLOAD, ...publication }), { code, message })
  await expectRejected({}, { ...TOPIC, topic: '' }, 400, /^topic must be/)
  await expectRejected({}, { ...TOPIC, namespace: '*' }, 400, /^namespace must be/)
  await expectRejected({ payload: new Uint8Array(11) }, TOPIC, 400, /^payload must be at most 10/)
  await expectRejected({ metadata: { a: 5 } }, TOPIC, 400, /^metadata must contain/)
  await expectRejected({ timestampMs: -1 }, TOPIC, 400, /^timestampMs must be/)
  await t.rejects(events.consume(TOPIC, { group: '*' }), { code: 400 })
  await t.rejects(events.read({ ...TOPIC, topic: '..' }), { code: 400 })
  t.throws(() => events.listTopics('*'), { code: 400 })
  t.throws(() => events.listGroups({ ...TOPIC, topic: '' }), { code: 400 })
  t.throws(() => events.deleteGroup(TOPIC, ''), { code: 400 })
  await t.rejects(events.deleteTopic({ ...TOPIC, topic: '' }), { code: 400 })
  t.strictSame(await events.listTopics(), [])
})

t.test('reserves space in the payload limit for metadata of the adapter', async (t) => {
  t.equal(open(t, { maxPayloadBytes: 1e9 }).events.maxPayloadBytes, 4 * 1024 * 1024)
  t.equal(open(t).events.maxPayloadBytes, 1024 * 1024)
  const { events } = open(t, {}, { maxEventBytes: 100_000 })
  t.equal(events.maxPayloadBytes, 100_000 - 16 * 1024 - 2048)
})

t.test('limits topics, groups and consumers', async (t) => {
  const { events } = open(t, { maxTopics: 2, maxGroups: 2, maxConsumers: 3, retainMs: 100_000 })
  await publish(events)
  await publish(events, {}, { ...TOPIC, topic: 'other' })
  await t.rejects(publish(events, {}, { ...TOPIC, topic: 'third' }), {
    code: 429,
    message: 'limit of 2 topics of namespace mx reached',
  })
  await publish(events)
  const consumers = await Promise.all(
    ['a', 'b', 'b'].map((group) => events.consume(TOPIC, { group })),
  )
  await t.rejects(events.consume(TOPIC), { code: 429, message: 'limit of 3 consumers reached' })
  await consumers[0]!.leave()
  await t.rejects(events.consume(TOPIC, { group: 'c' }), {
    code: 429,
    message: 'limit of 2 groups of the topic reached',
  })
  await events.deleteGroup(TOPIC, 'a')
  await events.consume(TOPIC, { group: 'c' })
})

t.test('counts a consumed topic but not a deleted one', async (t) => {
  const { events } = open(t, { maxTopics: 2, retainMs: 100_000 })
  const [one, two, three] = ['one', 'two', 'three'].map((topic) => ({ ...TOPIC, topic }))
  const consumer = await events.consume(one!, { group: 'g' })
  await publish(events, {}, two)
  const tooMany = [events.consume(three!, { group: 'g' }), publish(events, {}, three)]
  for (const invalid of tooMany)
    await t.rejects(invalid as Promise<unknown>, {
      code: 429,
      message: 'limit of 2 topics of namespace mx reached',
    })
  t.match(await events.listTopics(), [one!, two!], 'the rejected topic does not exist')
  await publish(events, {}, { ...three!, namespace: 'other' })
  const result = t.rejects(consumer.next(), { code: 410, message: 'the topic one was deleted' })
  t.equal(await events.deleteTopic(one!), true)
  t.equal(await events.deleteTopic(one!), false)
  await result
  await consumer.leave()
  t.equal((await publish(events, {}, three)).sequence, 1)
})

t.test('stops counting a topic without events and groups', async (t) => {
  const { events, clock } = open(t, { maxTopics: 1, retention: { maxAgeMs: 1000 } })
  await publish(events)
  const other = { ...TOPIC, topic: 'other' }
  clock.ms += 1999
  await waitUntil(async () => (await events.listTopics())[0]?.first === 2)
  await t.rejects(publish(events, {}, other), { code: 429 })
  clock.ms++
  const isAdmitted = () =>
    publish(events, {}, other).then(
      () => true,
      () => false,
    )
  await waitUntil(isAdmitted)
  t.match(await events.listTopics(), [other])
})

t.test('rejects events while too many are pending', async (t) => {
  const { events } = open(t, { maxWaitingBytes: 2000 })
  await publish(events)
  const first = publish(events, { payload: new Uint8Array(3000) })
  await t.rejects(publish(events), { code: 503, message: 'too many pending events' })
  await first
  await publish(events)
})

t.test('applies retention per topic', async (t) => {
  const { events, clock } = open(t, {
    retention: { maxAgeMs: 1000 },
    topics: { long: { maxAgeMs: 5000 }, small: { maxBytes: 1 } },
  })
  const topics = ['long', 'orders', 'small'].map((topic) => ({ namespace: 'mx', topic }))
  for (const topic of topics) for (let i = 0; i < 3; i++) await publish(events, {}, topic)
  const retained = async () =>
    (await events.listTopics()).map(({ topic, first, last }) => `${topic} ${last - first + 1}`)
  await waitUntil(async () => (await retained())[2] === 'small 1')
  t.strictSame(await retained(), ['long 3', 'orders 3', 'small 1'])
  clock.ms += 1000
  await waitUntil(async () => (await retained())[1] === 'orders 0')
  t.strictSame(await retained(), ['long 3', 'orders 0', 'small 0'])
  t.equal((await publish(events)).sequence, 4, 'sequences continue')
  clock.ms += 4000
  await waitUntil(async () => (await retained())[0] === 'long 0')
})

t.test(
  'moves an event that was delivered too often to the dead letters without losing it',
  async (t) => {
    const { events, memory } = open(t)
    const dead = { ...TOPIC, topic: 'orders.dead' }
    const { id } = await publish(events, { metadata: { a: 'b' } })
    const options = { group: 'g', start: { sequence: 1 }, autoAck: false, ackWaitMs: 60_000 }
    const consumer = await events.consume(TOPIC, { ...options, retryLimit: 1 })
    await consumer.next()
    await consumer.nack(id, 0)
    t.strictSame((await events.read(dead)).events, [])
    await consumer.next()
    await consumer.nack(id, 0)
    const { events: deadLetters } = await events.read(dead)
    t.equal(deadLetters.length, 1)
    t.match(deadLetters[0]!.metadata, {
      a: 'b',
      'dead-topic': 'orders',
      'dead-group': 'g',
      'dead-id': id,
      'dead-attempts': '2',
      'dead-reason': 'nack',
    })
    t.equal(Buffer.from(deadLetters[0]!.payload).toString(), 'payload')
    t.same(await memory.listGroups!(TOPIC), [{ name: 'g', acked: 1, pending: 0 }])
  },
)

t.test('retains an event that cannot be dead-lettered', async (t) => {
  const memory = createMemoryEvents()
  let isFull = false
  let expectRejected = 0
  const adapter: Partial<EventsAdapter> = {
    ...memory,
    append: (batch) => {
      if (!isFull) return memory.append(batch)
      expectRejected++
      throw eventsError(507, 'no room')
    },
  }
  // The adapter reports a full disk itself.
  const { events } = open(t, { onError: (error) => t.error(error) }, adapter)
  const { id } = await publish(events)
  isFull = true
  const options = { group: 'g', start: { sequence: 1 }, autoAck: false, retryLimit: 0 }
  const consumer = await events.consume(TOPIC, { ...options, ackWaitMs: 20 })
  await consumer.next()
  await t.rejects(async () => consumer.nack(id, 0), { code: 507 })
  const next = consumer.next()
  const alive = setInterval(() => {}, 1000)
  await waitUntil(() => expectRejected > 2)
  t.pass('retried after the acknowledgement timeout')
  isFull = false
  await waitUntil(
    async () => (await events.read({ ...TOPIC, topic: 'orders.dead' })).events.length > 0,
  )
  clearInterval(alive)
  t.match(await memory.listGroups!(TOPIC), [{ acked: 1 }])
  await consumer.leave()
  t.strictSame(await next, [])
})

t.test(
  'close releases consumers, waits for writes in flight and rejects further events',
  async (t) => {
    const { events } = open(t)
    const consumer = await events.consume(TOPIC)
    const next = consumer.next()
    const publishing = publish(events)
    await events.endConsumers()
    t.strictSame(await next, [])
    await t.rejects(events.consume(TOPIC), { code: 503, message: 'the events are closed' })
    t.ok(await publish(events), 'publishing continues')
    await events.close()
    t.ok(await publishing)
    await t.rejects(publish(events), { code: 503 })
    await t.rejects(events.read(TOPIC), { code: 503 })
    t.throws(() => events.listTopics(), { code: 503 })
    t.throws(() => events.listGroups(TOPIC), { code: 503 })
    t.throws(() => events.deleteGroup(TOPIC, 'g'), { code: 503 })
    await t.rejects(events.deleteTopic(TOPIC), { code: 503 })
    await events.close()
  },
)

t.test('ends a consumer that joins during close', async (t) => {
  const memory = createMemoryEvents()
  let onJoin: () => void = () => {}
  const joined = new Promise<void>((resolve) => {
    onJoin = resolve
  })
  let leaves = 0
  const { events } = open(
    t,
    {},
    {
      ...memory,
      async join(topic, group) {
        await joined
        const member = await memory.join(topic, group)
        return {
          pull: member.pull,
          leave() {
            leaves++
            return member.leave()
          },
        }
      },
    },
  )
  const consuming = t.rejects(events.consume(TOPIC), { code: 503 })
  const ending = events.endConsumers()
  onJoin()
  await consuming
  await ending
  t.equal(leaves, 1)
})

t.test('lists no groups for an adapter without groups', async (t) => {
  const { listGroups: _, deleteGroup: __, deleteTopic: ___, ...rest } = createMemoryEvents()
  const events = createEvents(rest)
  t.teardown(events.close)
  t.strictSame(await events.listGroups(TOPIC), [])
  t.equal(await events.deleteGroup(TOPIC, 'g'), false)
  t.equal(await events.deleteTopic(TOPIC), false)
  await events.consume(TOPIC, { group: 'g' })
})
