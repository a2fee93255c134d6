// Impact of clients that flood slow backends on memory and other requests: `npm run bench slow-backends [-- seconds]`.
// Fails if a goal is missed.
import { availableParallelism, loadavg } from 'node:os'
import { readOrigin, writeResult } from './http/results.ts'
import { guardGoals } from './report/goals.ts'
import { type Flood, measureFlood } from './slow-backends/measure-flood.ts'

const [seconds = 8] = process.argv.slice(2).map(Number)
const KINDS: readonly Omit<Flood, 'listener' | 'seconds'>[] = [
  { kind: 'uploads', count: 40, pace: 'never', mib: 90 },
  { kind: 'uploads', count: 20, pace: 'late', mib: 90 },
  { kind: 'uploads', count: 20, pace: 'prompt', mib: 90 },
  { kind: 'uploads', count: 4, pace: 'late', mib: 90 },
  { kind: 'sockets', count: 12, pace: 'never', mib: 1 },
  { kind: 'sockets', count: 4, pace: 'never', mib: 1 },
  { kind: 'unfinished', count: 50, pace: 'prompt', mib: 2 },
]
const LISTENERS = ['uws', 'node'] as const

// The slowest GET also depends on other load on the machine.
const [loadBefore] = loadavg()
const rows = []
for (const kind of KINDS) {
  for (const listener of LISTENERS) {
    const flood = { ...kind, listener, seconds }
    const figures = await measureFlood(flood)
    rows.push({ ...flood, ...figures })
    process.stdout.write(`${JSON.stringify({ ...flood, ...figures })}\n`)
  }
}
const lines = rows.map((row) => {
  const { listener, kind, count, pace, mib, rssMiB, peakMiB, gets, failedGets } = row
  const ended = Object.entries(row.outcomes)
    .map(([outcome, times]) => `${outcome}: ${times}`)
    .join(', ')
  const latency = `${row.medianMs.toFixed(1)} | ${row.maxMs.toFixed(0)} | ${gets - failedGets} of ${gets}`
  return `| ${listener} | ${count} ${kind}, ${mib} MiB | ${pace} | ${peakMiB} | ${rssMiB} | ${latency} | ${ended} |`
})
const head = [
  '| listener | clients | backend reads | peak RSS, MiB | final RSS, MiB | GET, median ms | max ms | successful GETs | outcomes of the clients |',
  '|---|---|---|--:|--:|--:|--:|--:|---|',
]
const load = `Load average before: ${loadBefore!.toFixed(1)} on ${availableParallelism()} processors.`
const table = `${load}\n\n${[...head, ...lines].join('\n')}\n`
const title = 'Clients that flood slow backends'
const origin = readOrigin('npm run bench slow-backends --', 'node:http')
const path = writeResult('slow-backends', title, origin, { seconds, loadBefore, rows }, table)
process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
const floods = rows.filter(({ kind, pace }) => pace === 'never' || kind === 'unfinished')
const toGoal = ({ listener, kind, count }: Flood, unit: string): string =>
  `${listener}, ${count} ${kind}, ${unit}`
guardGoals([
  ...floods.map((row) => ({ label: toGoal(row, 'peak MiB'), value: row.peakMiB, atMost: 256 })),
  ...floods
    .filter(({ kind }) => kind === 'sockets')
    .map((row) => ({ label: toGoal(row, 'slowest GET, ms'), value: row.maxMs, atMost: 100 })),
])
