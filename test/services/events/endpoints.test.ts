import t from 'tap'
import type { DeliveryMessage, EventMessage } from '../../../services/events/messages.ts'
import { openPlatformEvents } from '../../fixtures/platform-events.ts'

interface Page {
  readonly events: readonly (Omit<EventMessage, 'payload'> & { readonly payload: string })[]
  readonly next?: number
}

t.test('a published event is read with its id, sequence, time, metadata and payload', async (t) => {
  const { call } = await openPlatformEvents(t)
  const beforeMs = Date.now()
  const first = await call<{ id: string; sequence: number }>('Stream.Publish', {
    topic: 'orders',
    metadata: { a: 'b' },
    payload: 'AAEC',
  })
  const second = await call<{ id: string; sequence: number }>('Stream.Publish', {
    topic: 'orders',
    timestamp: '1700000000',
  })
  t.match(first, { id: /^[0-9a-f-]{36}$/, sequence: 1 })
  t.match(second, { id: /^[0-9a-f-]{36}$/, sequence: 2 })
  const { events, ...rest } = await call<Page>('Store.Read', { topic: 'orders' })
  t.strictSame(rest, {})
  t.match(events, [
    { id: second.id, timestamp: 1_700_000_000, timestamp_ms: 1_700_000_000_000, sequence: 2 },
    { id: first.id, topic: 'orders', metadata: { a: 'b' }, payload: 'AAEC', sequence: 1 },
  ])
  const { timestamp, timestamp_ms } = events[1]!
  t.ok(timestamp_ms >= beforeMs && timestamp_ms <= Date.now())
  t.equal(timestamp, Math.floor(timestamp_ms / 1000))
})

t.test('a page has 250 events by default and returns the offset of the next page', async (t) => {
  const { call } = await openPlatformEvents(t)
  await Promise.all(
    Array.from({ length: 1200 }, (_, i) =>
      call('Stream.Publish', { topic: 'a', timestamp_ms: 5000 + i }),
    ),
  )
  const read = async (request: object) => {
    const { events, next } = await call<Page>('Store.Read', { topic: 'a', ...request })
    return [events.length, events[0]?.sequence, next]
  }
  t.strictSame(await read({}), [250, 1, 250])
  t.strictSame(await read({ offset: 250 }), [250, 251, 500])
  t.strictSame(await read({ limit: 5, offset: 1190 }), [5, 1191, 1195])
  t.strictSame(await read({ limit: 5000 }), [1000, 1, 1000])
  t.strictSame(await read({ limit: 1000, offset: 1000 }), [200, 1001, undefined])
  t.strictSame(await read({ offset: 1200 }), [0, undefined, undefined])
  t.strictSame(await read({ since: 6, limit: 1000 }), [200, 1001, undefined])
  t.strictSame(await read({ since_ms: 6199 }), [1, 1200, undefined])
})

t.test('namespaces do not share topics', async (t) => {
  const { call } = await openPlatformEvents(t)
  await call('Stream.Publish', { topic: 'a', payload: 'AAAA' })
  await call('Stream.Publish', { topic: 'a', payload: 'AAAA' }, { namespace: 'other' })
  await call('Stream.Publish', { topic: 'b' }, { namespace: 'other' })
  t.match(await call('Stream.Topics'), { topics: [{ topic: 'a', first: 1, last: 1 }] })
  const { topics } = await call<{ topics: object[] }>('Stream.Topics', {}, { namespace: 'other' })
  t.match(topics, [{ topic: 'a' }, { topic: 'b', bytes: Number }])
  t.match(await call('Stream.Topics', { topic: 'b' }, { namespace: 'other' }), {
    topics: [{ topic: 'b' }],
  })
  t.strictSame(await call('Stream.Topics', { topic: 'b' }), { topics: [] })
  t.strictSame(await call('Store.Read', { topic: 'b' }), { events: [] })
})

t.test('DeleteGroup deletes a group and ends its consumers with 410', async (t) => {
  const { call, consume } = await openPlatformEvents(t)
  await call('Stream.Publish', { topic: 'a' })
  const stream = await consume<DeliveryMessage>({
    topic: 'a',
    group: 'g',
    sequence: 1,
    auto_ack: false,
    ack_wait: 60e9,
  })
  await stream.next()
  t.strictSame(await call('Stream.Groups', { topic: 'a' }), {
    groups: [{ group: 'g', acked: 0, pending: 1 }],
  })
  const outcome = t.rejects(stream.next(), { code: 410 })
  t.strictSame(await call('Stream.DeleteGroup', { topic: 'a', group: 'g' }), {})
  await outcome
  t.strictSame(await call('Stream.DeleteGroup', { topic: 'a', group: 'g' }), {})
  t.strictSame(await call('Stream.Groups', { topic: 'a' }), { groups: [] })
})

t.test('DeleteTopic deletes events and groups and ends the consumers with 410', async (t) => {
  const { call, consume } = await openPlatformEvents(t)
  await call('Stream.Publish', { topic: 'a' })
  const stream = await consume<DeliveryMessage>({ topic: 'a', group: 'g', sequence: 1 })
  await stream.next()
  const outcome = t.rejects(stream.next(), { code: 410, message: 'the topic a was deleted' })
  t.strictSame(await call('Stream.DeleteTopic', { topic: 'a' }), {})
  await outcome
  t.strictSame(await call('Stream.Topics'), { topics: [] })
  t.strictSame(await call('Stream.DeleteTopic', { topic: 'a' }), {})
  t.match(await call('Stream.Publish', { topic: 'a' }), { sequence: 1 }, 'sequences restart at 1')
})

t.test(
  'rejects a malformed request with 400 and the name of the field, and stores nothing',
  async (t) => {
    const { call, events } = await openPlatformEvents(t, { events: { maxPayloadBytes: 10 } })
    const topic = 'a'
    for (const [endpoint, request, code, message] of [
      ['Stream.Publish', {}, 400, /^Missing topic$/],
      ['Stream.Publish', { topic: '' }, 400, /^Missing topic$/],
      ['Stream.Publish', { topic: 'a b' }, 400, /request\.topic must be letters/],
      ['Stream.Publish', { topic: '..' }, 400, /request\.topic must be letters/],
      ['Stream.Publish', { topic: 'x'.repeat(254) }, 400, /request\.topic must be letters/],
      ['Stream.Publish', { topic: 5 }, 400, /request\.topic/],
      ['Stream.Publish', { topic, payload: '*' }, 400, /request\.payload must be base64/],
      [
        'Stream.Publish',
        { topic, payload: 'A'.repeat(16) },
        400,
        /^request\.payload must be at most 10/,
      ],
      ['Stream.Publish', { topic, metadata: { a: 5 } }, 400, /request\.metadata\.a/],
      ['Stream.Publish', { topic, metadata: { a: 'x'.repeat(17_000) } }, 400, /request\.metadata/],
      [
        'Stream.Publish',
        { topic, timestamp: -1 },
        400,
        /request\.timestamp must be a whole number/,
      ],
      ['Stream.Publish', { topic, timestamp: 'now' }, 400, /request\.timestamp must be/],
      ['Stream.Publish', { topic, timestamp: 1e13 }, 400, /request\.timestamp must be/],
      ['Stream.Publish', { topic, timestamp_ms: 1.5 }, 400, /request\.timestamp_ms must be/],
      ['Store.Read', {}, 400, /^Missing topic$/],
      ['Store.Read', { topic, limit: -1 }, 400, /request\.limit must be/],
      ['Store.Read', { topic, offset: 'x' }, 400, /request\.offset must be/],
      ['Stream.Groups', {}, 400, /^Missing topic$/],
      ['Stream.DeleteGroup', { topic }, 400, /^Missing group$/],
      ['Stream.DeleteGroup', { topic, group: '../x' }, 400, /request\.group must be/],
      ['Stream.DeleteTopic', {}, 400, /^Missing topic$/],
      ['Stream.DeleteTopic', { topic: '*' }, 400, /request\.topic must be/],
      ['Store.Write', { topic }, 501, /^events are written by Stream\.Publish$/],
    ] as const)
      await t.rejects(call(endpoint, request), { code, message }, JSON.stringify(request))
    await t.rejects(call('Stream.Publish', { topic }, { namespace: 'a b' }), {
      code: 400,
      message: /^Mx-Namespace must be letters/,
    })
    t.strictSame(await events.listTopics(), [])
  },
)
