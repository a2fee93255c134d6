import t from 'tap'
import { createMemoryEvents } from '../../../adapters/events/memory.ts'
import { readEvents } from '../../../domain/events/page.ts'

const TOPIC = { namespace: 'mx', topic: 'a' }

async function open(count: number, toTime: (i: number) => number, bytes = 1, metadata = {}) {
  const adapter = createMemoryEvents({ maxBytes: 1e9 })
  for (let from = 0; from < count; from += 1000)
    await adapter.append(
      Array.from({ length: Math.min(1000, count - from) }, (_, i) => ({
        topic: TOPIC,
        event: { id: '', timestampMs: toTime(from + i), metadata, payload: new Uint8Array(bytes) },
      })),
    )
  return adapter
}

t.test('returns 250 events by default, or the requested number', async (t) => {
  const adapter = await open(1500, (i) => i)
  const read = async (query: object) => {
    const { events, next } = await readEvents(adapter, TOPIC, query)
    return [events.length, events[0]?.sequence, next]
  }
  t.strictSame(await read({}), [250, 1, 251])
  t.strictSame(await read({ limit: 0 }), [1000, 1, 1001])
  t.strictSame(await read({ limit: 5000, sequence: 1001 }), [500, 1001, undefined])
  t.strictSame(await read({ limit: 500, sequence: 1001 }), [500, 1001, undefined])
  t.strictSame(await read({ sinceMs: 1400 }), [100, 1401, undefined])
  t.strictSame(await read({ sequence: 2000 }), [0, undefined, undefined])
})

t.test('orders a page by timestamp, then by sequence', async (t) => {
  const times = [30, 10, 20, 10, 5]
  const adapter = await open(times.length, (i) => times[i]!)
  const read = async (query: object) => {
    const { events, next } = await readEvents(adapter, TOPIC, query)
    return [...events.map(({ timestampMs, sequence }) => `${timestampMs}/${sequence}`), next]
  }
  t.strictSame(await read({}), ['5/5', '10/2', '10/4', '20/3', '30/1', undefined])
  t.strictSame(
    await read({ limit: 3 }),
    ['10/2', '20/3', '30/1', 4],
    'pages are ranges of sequences',
  )
  t.strictSame(await read({ limit: 3, sequence: 4 }), ['5/5', '10/4', undefined])
})

t.test('shortens a page with long payloads and metadata to the size of a message', async (t) => {
  const sizes: number[] = []
  for (const [count, bytes, metadata] of [
    [20, 1024 * 1024, {}],
    [1000, 0, { a: '\u0001'.repeat(2600) }],
  ] as const) {
    const adapter = await open(count, (i) => i, bytes, metadata)
    const { events, next } = await readEvents(adapter, TOPIC, { limit: 1000 })
    t.equal(next, events.length + 1)
    const json = events.map((event) => ({
      ...event,
      payload: Buffer.from(event.payload).toString('base64'),
    }))
    sizes.push(JSON.stringify(json).length)
  }
  for (const size of sizes) t.ok(size > 7e6 && size < 16 * 1024 * 1024, String(size))
})

t.test('yields to the event loop while skipping events by time', async (t) => {
  const adapter = await open(50_000, (i) => (i === 0 ? 1e9 : i))
  let ticks = 0
  let hasEnded = false
  const count = (): void => {
    ticks++
    if (!hasEnded) setImmediate(count)
  }
  setImmediate(count)
  const { events } = await readEvents(adapter, TOPIC, { sequence: 2, sinceMs: 1e8 })
  hasEnded = true
  t.equal(events.length, 0)
  t.ok(ticks >= 40, String(ticks))
})

t.test('rejects a contradictory query with 400', async (t) => {
  const adapter = createMemoryEvents()
  for (const [query, message] of [
    [{ sequence: 0 }, /^sequence must be/],
    [{ sinceMs: 1.5 }, /^sinceMs must be/],
    [{ limit: -1 }, /^limit must be/],
  ] as const)
    await t.rejects(readEvents(adapter, TOPIC, query), { code: 400, message })
})
