import t from 'tap'
import { toConsumedEvent, toPayload, toPlatformEvent } from '../../../sdk/events/platform-event.ts'

const WIRE = {
  id: 'id',
  topic: 'orders',
  metadata: { a: 'b' },
  payload: toPayload({ total: 12 }),
  timestamp_ms: 1_700_000_000_123,
  sequence: 5,
}

t.test('an event has id, topic, metadata, sequence, timestamp and message', (t) => {
  const event = toPlatformEvent(WIRE)
  t.match(event, {
    id: 'id',
    topic: 'orders',
    metadata: { a: 'b' },
    sequence: 5,
    timestamp: new Date(1_700_000_000_123),
  })
  t.strictSame(event.unmarshal(), { total: 12 })
  t.equal(Buffer.from(event.payload).toString(), '{"total":12}')
  t.end()
})

t.test('a message is bytes or JSON', (t) => {
  const read = (message: unknown) => Buffer.from(toPayload(message), 'base64').toString('latin1')
  t.equal(read(new Uint8Array([0, 255]).subarray(1)), '\u00ff')
  t.equal(read(new Uint8Array([255]).buffer), '\u00ff')
  for (const message of ['text', 5, null, true, [1], { a: 1 }])
    t.equal(read(message), JSON.stringify(message))
  t.throws(() => toPayload(undefined), {
    name: 'TypeError',
    message: 'message must be bytes or a JSON value, got undefined',
  })
  t.end()
})

t.test('unmarshal throws for a payload that is not JSON', (t) => {
  const event = toPlatformEvent({ ...WIRE, payload: 'AAEC' })
  t.throws(() => event.unmarshal(), SyntaxError)
  t.end()
})

t.test('ack and nack send the id and the delay', async (t) => {
  const responses: unknown[][] = []
  const event = toConsumedEvent({ ...WIRE, attempt: 3 }, async (...answer) => {
    responses.push(answer)
  })
  t.equal(event.attempt, 3)
  await event.ack()
  await event.nack()
  await event.nack({ delayMs: 50 })
  t.strictSame(responses, [
    ['id', true, 0],
    ['id', false, 0],
    ['id', false, 50],
  ])
})
