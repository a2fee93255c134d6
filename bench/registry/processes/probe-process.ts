// Loaded into a measured program. Reports event loop delay and memory, and shifts the wall clock, through the socket
// BENCH_PROBE.
import { createServer } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const RESOLUTION_MS = 2
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delay.enable()
/** Converts a histogram value by subtracting the sampling interval. */
const toDelayMs = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)

let offsetMs = 0
/** Must run before other modules, which may store a reference to `Date.now`. */
function patchClock(): void {
  const real = Date.now
  const now = () => real() + offsetMs
  const RealDate = Date
  RealDate.now = now
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
  })
}

const { BENCH_PROBE, BENCH_CLOCK } = process.env
if (BENCH_CLOCK === '1') patchClock()

const COMMANDS: Readonly<Record<string, (value: number) => void>> = {
  '/reset': () => delay.reset(),
  '/sample': () => {},
  '/collect': collect,
  '/shift': (value) => {
    offsetMs = value
  },
}

const server = createServer((request, reply) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://probe')
  COMMANDS[pathname]?.(Number(searchParams.get('value')))
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
  const [p50Ms, p99Ms] = [toDelayMs(delay.percentile(50)), toDelayMs(delay.percentile(99))]
  const loop = { p50Ms, p99Ms, maxMs: toDelayMs(delay.max) }
  reply.end(JSON.stringify({ loop, rss, heapUsed, external, arrayBuffers, dateMs: Date.now() }))
})
server.listen(BENCH_PROBE).unref()
