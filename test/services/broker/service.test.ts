import t from 'tap'
import { openPlatformBroker } from '../../fixtures/platform-broker.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { openRegistry } from '../../fixtures/sdk-services.ts'

t.test('the registry lists the endpoints of the broker service', async (t) => {
  const registry = openRegistry(t)
  await openPlatformBroker(t, { registry })
  const [service] = await registry.getService('broker')
  t.strictSame(
    service!.endpoints.map(({ name, metadata }) => `${name} ${metadata['stream'] ?? ''}`.trim()),
    ['Broker.Publish', 'Broker.Subscribe true', 'Broker.ReportDropped', 'Broker.Stats'],
  )
})

t.test('stopping ends the streams with 503 and leaves the broker open', async (t) => {
  const { subscribe, subscribers, broker, close } = await openPlatformBroker(t)
  const messages = subscribe({ topic: 'a' })
  const last = messages.next()
  await waitUntil(() => subscribers() === 1)
  const failed = t.rejects(last, { code: 503, message: 'the broker is stopping' })
  await close()
  await failed
  t.equal(subscribers(), 0)
  await broker.publish('mx.a', { headers: {}, body: new Uint8Array(0) })
})

t.test('a message that is too long for a stream is skipped and logged', async (t) => {
  const { subscribe, subscribers, broker, lines } = await openPlatformBroker(t)
  const messages = subscribe({ topic: 'a' })
  const first = messages.next()
  await waitUntil(() => subscribers() === 1)
  const publish = (bytes: number) =>
    broker.publish('mx.a', { headers: { a: '"'.repeat(1000) }, body: new Uint8Array(bytes) })
  await publish(12_584_000)
  await waitUntil(() => lines.some((line) => line.includes('too large')))
  await publish(12_579_000)
  t.equal(Buffer.from((await first).value.body, 'base64').length, 12_579_000)
  t.match(JSON.parse(lines.find((line) => line.includes('too large'))!), {
    topic: 'mx.a',
    bytes: 12_584_000,
    msg: 'message skipped: too large for a stream',
  })
})

t.test('rejects a subscriber beyond maxSubscribers with 429', async (t) => {
  const { subscribe, subscribers } = await openPlatformBroker(t, { maxSubscribers: 1 })
  const first = subscribe({ topic: 'a' }).next()
  await waitUntil(() => subscribers() === 1)
  await t.rejects(subscribe({ topic: 'a' }).next(), { code: 429 })
  void first.catch(() => {})
})
