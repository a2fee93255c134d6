// Hot restarts under load: `npm run bench restart [-- restarts] [requests per second]`. Fails if any request fails.

import { readOrigin, writeResult } from './http/results.ts'
import { guardGoals } from './report/goals.ts'
import { countFailed, measureRestarts } from './restart/measure-restarts.ts'

const [restarts = 20, rate = 500] = process.argv.slice(2).map(Number)
const KINDS = [
  { listener: 'uws', workers: 1 },
  { listener: 'uws', workers: 2 },
  { listener: 'node', workers: 1 },
  { listener: 'node', workers: 2 },
] as const

const rows = []
for (const kind of KINDS) {
  const restarted = await measureRestarts({ ...kind, restarts, rate })
  const { durationsMs, keepAlive, single, http2 } = restarted
  rows.push({
    ...kind,
    requests: keepAlive.sent + single.sent + http2.sent,
    failed: Object.values(countFailed(restarted)).reduce((sum, count) => sum + count, 0),
    p99Ms: Math.round(keepAlive.latency.p99),
    maxMs: Math.round(Math.max(keepAlive.latency.max, single.slowestMs)),
    restartMs: Math.round(durationsMs.reduce((sum, one) => sum + one, 0) / durationsMs.length),
  })
}
const lines = rows.map(
  ({ listener, workers, requests, failed, p99Ms, maxMs, restartMs }) =>
    `| ${listener} | ${workers} | ${requests} | ${failed} | ${p99Ms} | ${maxMs} | ${restartMs} |`,
)
const head = [
  '| listener | workers | requests | failed | p99 ms | max ms | duration of a restart, ms |',
  '|---|--:|--:|--:|--:|--:|--:|',
]
const table = `${[...head, ...lines].join('\n')}\n`
const title = `${restarts} restarts under load`
const origin = readOrigin('npm run bench restart --', 'node:http')
const path = writeResult('restart', title, origin, { restarts, rate, rows }, table)
process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
guardGoals(
  rows.map(({ listener, workers, failed }) => ({
    label: `${listener}, ${workers} workers, failed requests`,
    value: failed,
    atMost: 0,
  })),
)
