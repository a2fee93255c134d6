// Specification: "Event (events service)", "Events" and "Library-level operations": the events service; reference 5.2.
import t, { type Test } from 'tap'
import { createLmdbEvents } from '../../adapters/events/lmdb.ts'
import { createMemoryEvents } from '../../adapters/events/memory.ts'
import type { EventsAdapter } from '../../core/contracts/events.ts'
import { createEvents } from '../../sdk/events/events.ts'
import type { ConsumedEvent } from '../../sdk/events/platform-event.ts'
import { openApi } from '../fixtures/api.ts'
import { openPlatformEvents } from '../fixtures/platform-events.ts'
import { createService, openRegistry } from '../fixtures/sdk-services.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** The events service, a service that uses it, and a gateway as in server mode, without a namespace. */
async function open(t: Test, adapter: EventsAdapter) {
  const registry = openRegistry(t)
  const { address } = await openPlatformEvents(t, { adapter, registry })
  const service = createService(t, { name: 'shop', registry })
  t.teardown(() => service.client.close())
  const { port } = await openApi(t, {
    MX_ACCESS_LOG: 'off',
    MX_NAMESPACE: ' ',
    MX_BACKEND: `events=mx://${address}`,
  })
  const origin = `http://127.0.0.1:${port}/events`
  return {
    origin,
    events: createEvents(service),
    async post(path: string, body: object) {
      const init = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) }
      const reply = await fetch(`${origin}/${path}`, init)
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
    },
  }
}

const ADAPTERS: Readonly<Record<string, (t: Test) => EventsAdapter>> = {
  memory: () => createMemoryEvents(),
  lmdb: (t) => createLmdbEvents({ folder: makeTempFolder(t, 'events') }),
}

for (const [name, create] of Object.entries(ADAPTERS)) {
  t.test(
    `${name}: ID, the payload (decoded by the consumer through an unmarshal operation)`,
    async (t) => {
      const { events } = await open(t, create(t))
      const { id } = await events.publish('orders', { number: 5, items: ['a'] })
      for await (const event of events.consume('orders', { offset: 1 })) {
        t.equal(event.id, id)
        t.strictSame(event.unmarshal(), { number: 5, items: ['a'] })
        break
      }
      const [read] = await events.read('orders')
      t.equal(read!.id, id, 'One id per event')
    },
  )

  t.test(`${name}: metadata (string map, set with the publish option for metadata)`, async (t) => {
    const { events } = await open(t, create(t))
    await events.publish('orders', 1, { metadata: { source: 'shop', empty: '' } })
    t.strictSame((await events.read('orders'))[0]!.metadata, { source: 'shop', empty: '' })
  })

  t.test(
    `${name}: timestamp (default set by the service; overridable with the timestamp publish option)`,
    async (t) => {
      const { events } = await open(t, create(t))
      const before = Date.now()
      await events.publish('orders', 1)
      const timestamp = new Date('2020-02-29T12:00:00.123Z')
      await events.publish('orders', 2, { timestamp })
      const [byClient, byService] = await events.read('orders')
      const ms = byService!.timestamp.getTime()
      t.ok(ms >= before && ms <= Date.now())
      t.strictSame(byClient!.timestamp, timestamp)
    },
  )

  t.test(
    `${name}: ordered stream of events per topic, consumption or replay from any offset`,
    async (t) => {
      const { events } = await open(t, create(t))
      for (let n = 1; n <= 10; n++) {
        await events.publish('orders', n, { timestamp: new Date(n * 1000) })
        await events.publish('other', -n)
      }
      const take = async (offset: Date | number, count: number) => {
        const consumed: unknown[] = []
        for await (const event of events.consume('orders', { offset }))
          if (consumed.push(event.unmarshal()) === count) break
        return consumed
      }
      t.strictSame(await take(1, 10), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      t.strictSame(await take(8, 3), [8, 9, 10])
      t.strictSame(await take(new Date(6500), 4), [7, 8, 9, 10])
      t.strictSame(await take(new Date(6000), 2), [6, 7], 'replays events with timestamp ≥ offset')
    },
  )

  t.test(
    `${name}: Consume yields events from a topic; a consumer reads until the channel closes.`,
    async (t) => {
      const { events } = await open(t, create(t))
      await events.publish('orders', 0)
      const channel = events.consume('orders', { offset: 1 })
      const received: unknown[] = []
      const reading = (async () => {
        for await (const event of channel) {
          received.push(event.unmarshal())
          if (received.length === 3) await channel.return!()
          else await events.publish('orders', received.length)
        }
      })()
      await reading
      t.strictSame(received, [0, 1, 2])
    },
  )

  t.test(`${name}: acknowledgements and error handling`, async (t) => {
    const { events } = await open(t, create(t))
    await events.publish('orders', 'good')
    await events.publish('orders', 'bad')
    const received: string[] = []
    const options = { group: 'billing', offset: 1, autoAck: false, retryLimit: 2 }
    for await (const event of events.consume('orders', options)) {
      received.push(`${event.unmarshal()} ${event.attempt}`)
      if (event.unmarshal() === 'bad') await event.nack()
      else await event.ack()
      if (event.attempt === 3) break
    }
    t.strictSame(received, ['good 1', 'bad 1', 'bad 2', 'bad 3'])
    for await (const dead of events.consume('orders.dead', { offset: 1 })) {
      t.equal(dead.unmarshal(), 'bad')
      t.match(dead.metadata, { 'dead-group': 'billing', 'dead-attempts': '3' })
      break
    }
  })

  t.test(
    `${name}: each group receives all events; inside a group one member per event`,
    async (t) => {
      const { events } = await open(t, create(t))
      for (let n = 0; n < 40; n++) await events.publish('orders', n)
      const take = async (
        group: string,
        member: string,
        received: [string, unknown][],
        count: number,
      ) => {
        const channel = events.consume('orders', {
          group,
          offset: 1,
          autoAck: false,
          maxInFlight: 2,
        })
        t.teardown(() => channel.return!())
        for await (const event of channel as AsyncIterable<ConsumedEvent>) {
          received.push([member, event.unmarshal()])
          await event.ack()
          if (received.length === count) return
        }
      }
      const shared: [string, unknown][] = []
      const single: [string, unknown][] = []
      await Promise.race([take('shared', 'one', shared, 40), take('shared', 'two', shared, 40)])
      await take('alone', 'one', single, 40)
      const numbers = Array.from({ length: 40 }, (_, n) => n)
      const toNumbers = (received: [string, unknown][]) =>
        received.map(([, n]) => Number(n)).sort((a, b) => a - b)
      t.strictSame(toNumbers(shared), numbers)
      t.strictSame(toNumbers(single), numbers)
      t.equal(new Set(shared.map(([member]) => member)).size, 2)
    },
  )

  t.test(
    `${name}: Events can be listed later through the store-side read operation.`,
    async (t) => {
      const { events, post } = await open(t, create(t))
      for (let n = 1; n <= 300; n++) await events.publish('orders', n)
      t.strictSame(
        (await events.read('orders', { limit: 0 })).map((event) => event.unmarshal()),
        Array.from({ length: 300 }, (_, i) => i + 1),
      )
      const byDefault = await post('store/read', { topic: 'orders' })
      t.equal((byDefault.body['events'] as object[]).length, 250, 'Store.Read default limit 250')
      const page = await post('store/read', { topic: 'orders', limit: 2, offset: 298 })
      t.match(page.body, { events: [{ sequence: 299 }, { sequence: 300 }] })
    },
  )
}

t.test('persistent storage: an event survives a restart', async (t) => {
  const folder = makeTempFolder(t, 'events')
  const first = await openPlatformEvents(t, { adapter: createLmdbEvents({ folder }) })
  await createEvents(first.client).publish('orders', 'kept')
  await first.close()
  const second = await openPlatformEvents(t, { adapter: createLmdbEvents({ folder }) })
  const [event] = await createEvents(second.client).read('orders')
  t.equal(event!.unmarshal(), 'kept')
})

t.test('Stream.Publish, Stream.Consume, Store.Read and Store.Write, over HTTP', async (t) => {
  const { origin, post } = await open(t, createMemoryEvents())
  const published = await post('stream/publish', {
    topic: 'orders',
    metadata: { a: 'b' },
    payload: Buffer.from('{"total":1}').toString('base64'),
    timestamp: 1_700_000_000,
  })
  t.equal(published.status, 200)
  t.match(published.body, { id: String, sequence: 1 })
  const { body } = await post('store/read', { topic: 'orders' })
  t.match(body, {
    events: [
      { id: published.body['id'], topic: 'orders', metadata: { a: 'b' }, timestamp: 1_700_000_000 },
    ],
  })
  t.equal((await post('store/write', {})).status, 501)
  const missing = await post('stream/publish', { payload: '' })
  t.equal(missing.status, 400)
  t.match(missing.body, { Code: 400, Detail: 'Missing topic' })

  const stream = await fetch(`${origin}/stream/consume?topic=orders&sequence=1`, {
    headers: { accept: 'text/event-stream' },
  })
  t.equal(stream.status, 200)
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('\n\n')) text += (await reader.read()).value
  await reader.cancel()
  t.match(text, /data: \{"id":"[^"]+","topic":"orders","metadata":\{"a":"b"\}/)
})
