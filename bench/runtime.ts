// Duration of `mx run` and `mx kill`, overhead of running services, and latency of logs:
// `npm run bench runtime [-- runs services seconds]`.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { readOrigin, writeResult } from './http/results.ts'
import { readCpuMs } from './http/servers/processes.ts'
import { type Goal, guardGoals } from './report/goals.ts'
import { ROOT } from './rivals/rival.ts'
import { openPlatform, type Platform } from './runtime/platform.ts'
import { CLOCK_PROGRAM, FLOOD_RATE, IDLE_PROGRAM, toFloodProgram } from './runtime/programs.ts'

const [runs = 5, services = 50, seconds = 30] = process.argv.slice(2).map(Number)
const AT_ONCE = 5
const FLOOD_SECONDS = 10
const INTERVAL_MS = 10

interface Figure extends Goal {
  readonly unit: string
}

function at(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

async function measureRun({ run }: Platform): Promise<Figure[]> {
  const durationsMs: number[] = []
  const killed: number[] = []
  // The first run only fills caches.
  for (let i = 0; i <= runs!; i++) {
    const durationMs = await run('run', join(ROOT, 'examples/helloworld'))
    const killedMs = await run('kill', 'helloworld')
    if (i > 0) {
      durationsMs.push(durationMs)
      killed.push(killedMs)
    }
  }
  return [
    { label: 'mx run, median', value: Math.round(at(durationsMs, 0.5)), unit: 'ms', atMost: 3000 },
    { label: 'mx run, slowest', value: Math.round(Math.max(...durationsMs)), unit: 'ms' },
    { label: 'mx kill, median', value: Math.round(at(killed, 0.5)), unit: 'ms', atMost: 1000 },
    { label: 'mx kill, slowest', value: Math.round(Math.max(...killed)), unit: 'ms' },
  ]
}

/** Measures the CPU usage of the server in percent. */
async function measureShare({ server }: Platform): Promise<number> {
  const before = readCpuMs(server.pid)
  await wait(seconds! * 1000)
  return Number(((readCpuMs(server.pid) - before) / (seconds! * 10)).toFixed(2))
}

async function measureMany(platform: Platform): Promise<Figure[]> {
  const { run, write } = platform
  const alone = await measureShare(platform)
  const source = write('idle', IDLE_PROGRAM)
  const names = Array.from({ length: services! }, (_, i) => `idle-${i}`)
  const forEach = async (work: (name: string) => Promise<unknown>): Promise<void> => {
    for (let i = 0; i < names.length; i += AT_ONCE)
      await Promise.all(names.slice(i, i + AT_ONCE).map(work))
  }
  await forEach((name) => run('run', source, `--name=${name}`))
  // Waits until the server has finished starting the services.
  await wait(5000)
  const loaded = await measureShare(platform)
  await forEach((name) => run('kill', name))
  const value = Number(Math.max(0, loaded - alone).toFixed(2))
  return [
    { label: 'CPU usage of the server, no services', value: alone, unit: '%' },
    { label: `CPU usage of the server, ${services} services`, value: loaded, unit: '%' },
    { label: `overhead of ${services} services`, value, unit: '%', atMost: 2 },
  ]
}

/** Measures the delay from writing a line to reading it with `mx logs -f`. */
async function measureLatency({ run, start, write }: Platform): Promise<Figure[]> {
  await run('run', write('clock', CLOCK_PROGRAM))
  const follower = start('logs', '-f', 'clock', '-n0')
  const late: number[] = []
  for await (const line of createInterface({ input: follower.stdout! })) {
    late.push(Date.now() - Number(/^at (\d+)$/.exec(line)?.[1]))
    if (late.length === 100) break
  }
  follower.kill('SIGINT')
  await once(follower, 'close')
  await run('kill', 'clock')
  return [
    { label: 'line to `mx logs -f`, median', value: at(late, 0.5), unit: 'ms' },
    {
      label: 'line to `mx logs -f`, slowest of 100',
      value: Math.max(...late),
      unit: 'ms',
      atMost: 100,
    },
  ]
}

/** Follows a service that logs at the maximum supported rate while calling another service. */
async function measureFlood(platform: Platform, folder: string): Promise<Figure[]> {
  const { run, start, write } = platform
  const lines = FLOOD_RATE * FLOOD_SECONDS
  const signal = join(folder, 'begin')
  await run('run', join(ROOT, 'examples/helloworld'))
  await run('run', write('flood', toFloodProgram(lines, signal)))
  const before = await callFor(platform, 3000)
  const follower = start('logs', '-f', 'flood', '-n', 'all')
  let next = 0
  let wrong = 0
  const reading = (async () => {
    for await (const line of createInterface({ input: follower.stdout! })) {
      if (line !== `line ${next}`) wrong++
      next = Number(line.slice('line '.length)) + 1
      if (next === lines) return
    }
  })()
  writeFileSync(signal, '')
  const startMs = performance.now()
  const [floodLatencies] = await Promise.all([callFor(platform, FLOOD_SECONDS * 1000), reading])
  const durationS = (performance.now() - startMs) / 1000
  follower.kill('SIGINT')
  await once(follower, 'close')
  await run('kill', 'flood')
  await run('kill', 'helloworld')
  return [
    { label: `lines received of ${lines}`, value: next, unit: 'lines', atLeast: lines },
    { label: 'lines lost or out of order', value: wrong, unit: 'lines', atMost: 0 },
    { label: 'until the last line', value: Number(durationS.toFixed(1)), unit: 's' },
    {
      label: 'calls to another service before the flood, p99',
      value: at(before, 0.99),
      unit: 'ms',
    },
    {
      label: 'calls to another service during the flood, p99',
      value: at(floodLatencies, 0.99),
      unit: 'ms',
    },
  ]
}

/** Calls `helloworld` at a constant rate. @returns duration of each call in milliseconds. */
async function callFor({ gateway }: Platform, durationMs: number): Promise<number[]> {
  const times: number[] = []
  const calls: Promise<void>[] = []
  const call = async (): Promise<void> => {
    const startMs = performance.now()
    const reply = await fetch(`${gateway}/helloworld/call?name=x`)
    await reply.arrayBuffer()
    if (!reply.ok) throw new Error(`helloworld responded with ${reply.status}`)
    times.push(Number((performance.now() - startMs).toFixed(1)))
  }
  const endMs = performance.now() + durationMs
  while (performance.now() < endMs) {
    calls.push(call())
    await wait(INTERVAL_MS)
  }
  await Promise.all(calls)
  return times
}

const folder = mkdtempSync(join(tmpdir(), 'mx-bench-runtime-'))
const platform = await openPlatform(folder)
try {
  const figures = [
    ...(await measureRun(platform)),
    ...(await measureMany(platform)),
    ...(await measureLatency(platform)),
    ...(await measureFlood(platform, folder)),
  ]
  const rows = figures.map(({ label, value, unit }) => `| ${label} | ${value} ${unit} |`)
  const table = `${['| what | figure |', '|---|--:|', ...rows].join('\n')}\n`
  const title = 'The runtime'
  const origin = readOrigin('npm run bench runtime --', 'none')
  const path = writeResult('runtime', title, origin, { figures }, table)
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
  guardGoals(figures.filter(({ atMost, atLeast }) => atMost !== undefined || atLeast !== undefined))
} finally {
  await platform.stop()
  rmSync(folder, { recursive: true, force: true })
}
