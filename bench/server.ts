// Startup time and memory of `mx server`, compared with the gateway alone in the same run:
// `npm run bench server [-- starts]`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOrigin, writeResult } from './http/results.ts'
import { guardGoals } from './report/goals.ts'
import { median } from './report/median.ts'
import { measureServer, measureStart, type Start, toStartGoals } from './server/measure-start.ts'

const [starts = 5] = process.argv.slice(2).map(Number)

const folder = mkdtempSync(join(tmpdir(), 'mx-bench-server-'))
const inFolder = (name: string): string => `--data_dir=${join(folder, name)}`
const GATEWAY = 'mx api'
const kinds: readonly [label: string, start: (n: number) => Promise<Start>][] = [
  [GATEWAY, () => measureStart(['api'], '/')],
  ['mx server, first start', (n) => measureServer([inFolder(`${n}`)])],
  ['mx server, existing data', () => measureServer([inFolder('0')])],
  ['mx server --profile=test', () => measureServer(['--profile=test'])],
]

try {
  const rows = []
  for (const [label, start] of kinds) {
    const all: Start[] = []
    for (let n = 0; n < starts; n++) all.push(await start(n))
    const readyMs = Math.round(median(all.map((run) => run.readyMs)))
    const slowestMs = Math.round(Math.max(...all.map((run) => run.readyMs)))
    const megabytes = Math.round(Math.max(...all.map((run) => run.megabytes)))
    rows.push({ label, readyMs, slowestMs, megabytes })
  }
  const lines = rows.map(
    ({ label, readyMs, slowestMs, megabytes }) =>
      `| ${label} | ${readyMs} | ${slowestMs} | ${megabytes} |`,
  )
  const head = ['| command | ready after ms, median | max, ms | max. MB |', '|---|--:|--:|--:|']
  const table = `${[...head, ...lines].join('\n')}\n`
  const title = 'Startup of the server'
  const origin = readOrigin('npm run bench server --', 'none')
  const path = writeResult('server-start', title, origin, { starts, rows }, table)
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
  const servers = rows.filter(({ label }) => label !== GATEWAY)
  guardGoals(servers.flatMap(({ label, ...start }) => toStartGoals(label, start)))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
