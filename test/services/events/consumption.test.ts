import t from 'tap'
import type { CallStream } from '../../../sdk/client/streams/call-stream.ts'
import type { DeliveryMessage } from '../../../services/events/messages.ts'
import { openPlatformEvents, type PlatformEvents } from '../../fixtures/platform-events.ts'

const MINUTE_NS = 60e9
const MANUAL = { topic: 'a', sequence: 1, auto_ack: false, ack_wait: MINUTE_NS }

async function publish({ call }: PlatformEvents, ...texts: string[]): Promise<void> {
  for (const text of texts)
    await call('Stream.Publish', { topic: 'a', payload: Buffer.from(text).toString('base64') })
}

/** Payload and attempt number. */
async function consumeEvents(
  stream: CallStream<object, DeliveryMessage>,
): Promise<[string, DeliveryMessage]> {
  const { value } = await stream.next()
  const event = value as DeliveryMessage
  return [`${Buffer.from(String(event.payload), 'base64')} ${event.attempt}`, event]
}

async function takeAll(stream: CallStream<object, DeliveryMessage>, count: number) {
  const texts: string[] = []
  for (let i = 0; i < count; i++) texts.push((await consumeEvents(stream))[0])
  return texts
}

t.test(
  'a consumer with a topic only receives new events and acknowledges them implicitly',
  async (t) => {
    const platform = await openPlatformEvents(t)
    await publish(platform, 'before')
    const stream = await platform.consume<DeliveryMessage>({ topic: 'a' })
    // Publishes until the first event arrives, because only that shows that the consumer has started.
    const first = consumeEvents(stream)
    let isReceived = false
    void first.then(() => {
      isReceived = true
    })
    while (!isReceived) await publish(platform, 'new')
    t.equal((await first)[0], 'new 1')
  },
)

t.test('a start position is a time in seconds, a time in milliseconds or a sequence', async (t) => {
  const platform = await openPlatformEvents(t)
  for (const timestamp_ms of [10_000, 30_000, 20_500])
    await platform.call('Stream.Publish', { topic: 'a', timestamp_ms })
  const consumeFrom = async (start: object, count: number) => {
    const stream = await platform.consume<DeliveryMessage>({ topic: 'a', ...start })
    const sequences: number[] = []
    for (let i = 0; i < count; i++) sequences.push((await consumeEvents(stream))[1].sequence)
    return sequences
  }
  t.strictSame(await consumeFrom({ offset: 1 }, 3), [1, 2, 3])
  t.strictSame(await consumeFrom({ offset: '20' }, 2), [2, 3])
  t.strictSame(await consumeFrom({ offset_ms: 20_501 }, 1), [2])
  t.strictSame(await consumeFrom({ sequence: 3 }, 1), [3])
})

t.test('acknowledged events are not redelivered, but rejected events are', async (t) => {
  const platform = await openPlatformEvents(t)
  await publish(platform, 'x', 'y', 'z')
  const group = { ...MANUAL, group: 'g' }
  const stream = await platform.consume<DeliveryMessage>(group)
  const [, x] = await consumeEvents(stream)
  const [, y] = await consumeEvents(stream)
  t.equal((await consumeEvents(stream))[0], 'z 1')
  await stream.send({ id: x.id, success: true })
  await stream.send({ id: 'unknown', success: true })
  await stream.send({ id: y.id, success: false })
  t.equal((await consumeEvents(stream))[0], 'y 2')
  await stream.send({ id: y.id, success: false, delay: 1e6 })
  t.equal((await consumeEvents(stream))[0], 'y 3')
  await stream.return()
  const repeated = await platform.consume<DeliveryMessage>(group)
  const texts = await takeAll(repeated, 2)
  t.strictSame(texts, ['y 4', 'z 2'])
})

t.test('an event that is not acknowledged within ack_wait is redelivered', async (t) => {
  const platform = await openPlatformEvents(t)
  await publish(platform, 'x')
  const stream = await platform.consume<DeliveryMessage>({ ...MANUAL, ack_wait: 30e6 })
  t.strictSame(await takeAll(stream, 3), ['x 1', 'x 2', 'x 3'])
})

t.test('a group with auto_ack resumes after the last event sent', async (t) => {
  const platform = await openPlatformEvents(t)
  await publish(platform, 'x', 'y')
  const group = { topic: 'a', group: 'g', sequence: 1 }
  const first = await platform.consume<DeliveryMessage>(group)
  t.strictSame(await takeAll(first, 2), ['x 1', 'y 1'])
  await publish(platform, 'z')
  t.strictSame(await takeAll(first, 1), ['z 1'])
  await first.return()
  await publish(platform, 'last')
  const second = await platform.consume<DeliveryMessage>(group)
  t.strictSame(await takeAll(second, 1), ['last 1'], 'sent events are not redelivered')
})

t.test('an event beyond retry_limit becomes a dead letter', async (t) => {
  const platform = await openPlatformEvents(t)
  await publish(platform, 'x', 'y')
  const group = { ...MANUAL, group: 'g', retry_limit: '1' }
  const stream = await platform.consume<DeliveryMessage>(group)
  const [, x] = await consumeEvents(stream)
  await consumeEvents(stream)
  await stream.send({ id: x.id, success: false })
  t.equal((await consumeEvents(stream))[0], 'x 2')
  await stream.send({ id: x.id, success: false })
  const dead = await platform.consume<DeliveryMessage>({ topic: 'a.dead', sequence: 1 })
  const [text, deadLetter] = await consumeEvents(dead)
  t.equal(text, 'x 1')
  t.match(deadLetter.metadata, {
    'dead-topic': 'a',
    'dead-group': 'g',
    'dead-id': x.id,
    'dead-sequence': '1',
    'dead-attempts': '2',
    'dead-reason': 'nack',
  })
})

t.test('at most max_in_flight unacknowledged events are sent', async (t) => {
  const platform = await openPlatformEvents(t)
  await publish(platform, 'x', 'y', 'z')
  const stream = await platform.consume<DeliveryMessage>({
    ...MANUAL,
    group: 'g',
    max_in_flight: 2,
  })
  const [, x] = await consumeEvents(stream)
  await consumeEvents(stream)
  t.match(await platform.call('Stream.Groups', { topic: 'a' }), { groups: [{ pending: 2 }] })
  await stream.send({ id: x.id, success: true })
  t.equal((await consumeEvents(stream))[0], 'z 1')
})

t.test('rejects a consumer beyond maxConsumers with 429 until another one leaves', async (t) => {
  const platform = await openPlatformEvents(t, { events: { maxConsumers: 1 } })
  const first = await platform.consume({ topic: 'a' })
  const waiting = first.next()
  const second = await platform.consume({ topic: 'a' })
  await t.rejects(second.next(), { code: 429, message: 'limit of 1 consumers reached' })
  await first.return()
  await waiting
  // The service detects the disconnect a little later.
  for (;;) {
    const third = await platform.consume<DeliveryMessage>({ topic: 'a', sequence: 1 })
    await publish(platform, 'x')
    const error = await consumeEvents(third).catch((error: { code: number }) => error)
    if ('code' in error && error.code === 429) continue
    t.match(error, ['x 1'])
    break
  }
})

t.test('acknowledgements sent before the end of the stream are stored', async (t) => {
  const platform = await openPlatformEvents(t)
  await publish(platform, 'a', 'b', 'c', 'd')
  const stream = await platform.consume<DeliveryMessage>({ ...MANUAL, group: 'g' })
  for (let i = 0; i < 3; i++) {
    const [, { id }] = await consumeEvents(stream)
    void stream.send({ id, success: true })
  }
  stream.end()
  for (;;) if ((await stream.next()).done === true) break
  t.strictSame(await platform.call('Stream.Groups', { topic: 'a' }), {
    groups: [{ group: 'g', acked: 3, pending: 0 }],
  })
  const other = await platform.consume<DeliveryMessage>({ ...MANUAL, group: 'g' })
  t.equal((await consumeEvents(other))[0], 'd 2', 'an event in flight is redelivered')
})

t.test('rejects an invalid first message with 400 and the name of the field', async (t) => {
  const { consume } = await openPlatformEvents(t)
  for (const [request, message] of [
    [{}, /^Missing topic$/],
    [{ topic: 'a b' }, /request\.topic must be letters/],
    [{ topic: 'a', group: '*' }, /request\.group must be letters/],
    [{ topic: 'a', auto_ack: false }, /^invalid AckWait passed, should be positive integer/],
    [{ topic: 'a', auto_ack: false, ack_wait: -1 }, /request\.ack_wait must be a whole number/],
    [{ topic: 'a', auto_ack: false, ack_wait: 1e15 }, /request\.ack_wait must be a whole number/],
    [{ topic: 'a', offset: 'x' }, /request\.offset must be/],
    [{ topic: 'a', sequence: 1.5 }, /request\.sequence must be/],
    [{ topic: 'a', retry_limit: -2 }, /request\.retry_limit must be/],
    [{ topic: 'a.dead', retry_limit: 3 }, /retryLimit must be -1/],
    [{ topic: 'x'.repeat(250), retry_limit: 3 }, /retryLimit must be -1/],
    [{ topic: 'a', max_in_flight: 1e6 }, /request\.max_in_flight must be/],
  ] as const) {
    const stream = await consume(request)
    await t.rejects(stream.next(), { code: 400, message }, JSON.stringify(request))
  }
  const response = await consume(MANUAL)
  await response.send({ success: true })
  await t.rejects(response.next(), { code: 400, message: 'request.id must not be empty' })
})

t.test('rejects a stream that ends without a first message with 400', async (t) => {
  const { client } = await openPlatformEvents(t)
  const stream = client.stream('events', 'Stream.Consume')
  stream.end()
  await t.rejects(stream.next(), { code: 400, message: 'the first message must set a topic' })
})
