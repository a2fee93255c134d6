// Message throughput and latency, compared with the bare NATS client in the same run:
// `npm run bench broker [-- seconds rounds]`.
import { startNatsServer } from '../test/fixtures/nats.ts'
import { findProgram } from '../test/fixtures/servers.ts'
import { openBareNats } from './broker/bare-nats.ts'
import type { Contestant } from './broker/contestant.ts'
import { openMemory, openNats, openService } from './broker/mx.ts'
import { median } from './report/median.ts'
import { reportRows } from './report/rows.ts'

const [seconds = 2, rounds = 3] = process.argv.slice(2).map(Number)
const BODY = Buffer.from('x'.repeat(128))
/** Maximum messages in flight; below the subscriber's buffer limit, so that no messages are dropped. */
const WINDOW = 5000
const BURST = 500

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Measures messages published and delivered per second. */
async function measureRate(publish: Contestant['publish'], count: () => number): Promise<number> {
  const first = count()
  let sent = 0
  const startMs = performance.now()
  const endMs = startMs + seconds! * 1000
  while (performance.now() < endMs) {
    const burst: unknown[] = []
    for (let i = 0; i < BURST; i++) burst.push(publish(BODY))
    sent += BURST
    await Promise.all(burst)
    while (sent - (count() - first) > WINDOW) await nextTick()
  }
  while (count() - first < sent) await nextTick()
  return Math.round((sent / (performance.now() - startMs)) * 1000)
}

/** Measures the median latency of a single message in flight, from publishing to delivery, in microseconds. */
async function measureLatency(
  publish: Contestant['publish'],
  count: () => number,
): Promise<number> {
  const times: number[] = []
  const endMs = performance.now() + 500
  while (performance.now() < endMs) {
    const before = count()
    const startMs = performance.now()
    await publish(BODY)
    while (count() === before) await nextTick()
    times.push((performance.now() - startMs) * 1000)
  }
  return Math.round(median(times))
}

async function measure({
  name,
  publish,
  subscribe,
}: Contestant): Promise<[string, number, number]> {
  let received = 0
  await subscribe(() => {
    received++
  })
  const count = (): number => received
  const rate = await measureRate(publish, count)
  return [name, rate, await measureLatency(publish, count)]
}

const program = findProgram('nats-server')
const server = program === undefined ? undefined : await startNatsServer(program)
if (server === undefined)
  process.stdout.write('nats-server is not installed (scripts/test-servers.sh installs it)\n')
const contestants: (() => Promise<Contestant>)[] = [openMemory, openService]
if (server !== undefined)
  contestants.push(
    () => openNats(server.port),
    () => openBareNats(server.port),
  )

try {
  const figures = new Map<string, { readonly rates: number[]; readonly latencies: number[] }>()
  for (let round = 0; round < rounds!; round++)
    for (const open of contestants) {
      const contestant = await open()
      try {
        const [name, rate, latency] = await measure(contestant)
        const { rates, latencies } = figures.get(name) ?? { rates: [], latencies: [] }
        figures.set(name, { rates: [...rates, rate], latencies: [...latencies, latency] })
      } finally {
        await contestant.close()
      }
    }
  reportRows(
    'broker',
    'Broker throughput and latency',
    `Messages of ${BODY.length} bytes, medians of ${rounds} rounds`,
    [...figures].map(([broker, { rates, latencies }]) => ({
      broker,
      'messages/s': median(rates),
      'latency, µs': median(latencies),
    })),
  )
} finally {
  await server?.close()
}
