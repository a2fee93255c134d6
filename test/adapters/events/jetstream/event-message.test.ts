import { headers } from '@nats-io/transport-node'
import t from 'tap'
import {
  encodeHeaders,
  MAX_HEAD_BYTES,
} from '../../../../adapters/events/jetstream/event-message.ts'
import { JET_TOPIC, makeEvent, startJetStream, toAppends } from '../../../fixtures/jetstream.ts'

const ALL = { from: 1, limit: 100, maxBytes: 1e6 }

t.test('limits the headers apart from id and metadata', async (t) => {
  const event = makeEvent('', { timestampMs: 8.64e15, metadata: { a: 'é\r\n"' } })
  const { bytes } = encodeHeaders(event)
  const json = Buffer.byteLength(JSON.stringify(event.metadata))
  t.ok(bytes - event.id.length - json <= MAX_HEAD_BYTES, `${bytes}`)
})

t.test('decodes messages of other publishers as events', async (t) => {
  const server = await startJetStream(t)
  if (server === undefined) return
  const events = server.openEvents()
  await events.append(toAppends('ours'))
  const other = await server.connect()
  const beforeMs = Date.now()
  const subject = 'mx.events.mx.orders'
  other.publish(subject, 'plain')
  const fields = headers()
  fields.append('Kind', 'a')
  fields.append('Kind', 'b')
  other.publish(subject, 'with headers', { headers: fields })
  const broken = headers()
  broken.append('Nats-Msg-Id', '00000000-0000-4000-8000-000000000000')
  broken.append('Mx-Timestamp', '5')
  broken.append('Mx-Metadata', '{"a": 1}')
  other.publish(subject, 'broken metadata', { headers: broken })
  await other.flush()

  const read = async () => (await events.read(JET_TOPIC, ALL)).events
  const [platformEvent, plain, withHeaders, third] = await read()
  t.equal(Buffer.from(platformEvent!.payload).toString(), 'ours')
  t.match(plain, { sequence: 2, metadata: {} })
  t.match(plain!.id, /^[\da-f]{8}-[\da-f]{4}-8/)
  t.ok(
    plain!.timestampMs >= beforeMs - 1 && plain!.timestampMs <= Date.now(),
    'the time of storage',
  )
  t.match(withHeaders, { sequence: 3, metadata: { Kind: 'a, b' } })
  t.notMatch(withHeaders, { id: plain!.id })
  t.match(third, { id: '00000000-0000-4000-8000-000000000000', timestampMs: 5, metadata: {} })
  t.same(
    (await read()).map(({ id }) => id),
    [platformEvent, plain, withHeaders, third].map((event) => event!.id),
    'ids are stable across reads',
  )
})
