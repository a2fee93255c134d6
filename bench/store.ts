// The store, compared with Redis in the same run: `npm run bench store [-- records seconds rounds]`.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../test/fixtures/servers.ts'
import { type Goal, guardGoals } from './report/goals.ts'
import { median } from './report/median.ts'
import { reportRows } from './report/rows.ts'
import type { ContestantName } from './store/contestant.ts'
import { CALLERS } from './store/measure.ts'
import { type RemoteContestant, startContestant } from './store/remote-contestant.ts'

const [records = 100_000, seconds = 1, rounds = 5] = process.argv.slice(2).map(Number)
const WRITES = 'writes/s'
const READS = 'reads/s'
const PAGE = 'prefix page of 1000, ms, median'

function toRow(store: string, figures: readonly (readonly number[])[]) {
  const [writes, reads, page, slowPage] = [0, 1, 2, 3].map((n) =>
    median(figures.map((figure) => figure[n]!)),
  )
  return { store, [WRITES]: writes!, [READS]: reads!, [PAGE]: page!, 'page p99, ms': slowPage! }
}

function toGoals({ name, goals }: RemoteContestant, row: ReturnType<typeof toRow>): Goal[] {
  if (goals === undefined) return []
  const { writesPerSecond, readsPerSecond, pageMs } = goals
  return [
    { label: `${name}, ${WRITES}`, value: row[WRITES], atLeast: writesPerSecond },
    { label: `${name}, ${READS}`, value: row[READS], atLeast: readsPerSecond },
    { label: `${name}, ${PAGE}`, value: row[PAGE], atMost: pageMs },
  ]
}

const folder = mkdtempSync(join(tmpdir(), 'mx-bench-store-'))
const names: ContestantName[] = ['mx, sync os', 'mx, sync always']
if (findProgram('redis-server') !== undefined)
  names.push('redis, appendfsync everysec', 'redis, appendfsync always')
else process.stdout.write('redis-server is not installed (scripts/test-servers.sh installs it)\n')
const contestants: RemoteContestant[] = []

try {
  for (const name of names) {
    const dataFolder = join(folder, name)
    mkdirSync(dataFolder)
    contestants.push(
      await startContestant(name, dataFolder, { records: records!, seconds: seconds! }),
    )
  }
  const figures = contestants.map((): number[][] => [])
  for (let round = 0; round < rounds!; round++)
    for (const [n, { measure }] of contestants.entries()) figures[n]!.push(await measure())
  const rows = contestants.map(({ name }, n) => toRow(name, figures[n]!))
  const conditions = `${records} records of 128 bytes, ${CALLERS} concurrent callers, medians of ${rounds} rounds, each store in a separate process`
  reportRows('store', 'The store, called within the process', conditions, rows)
  guardGoals(contestants.flatMap((contestant, n) => toGoals(contestant, rows[n]!)))
} finally {
  for (const { close } of contestants) await close()
  rmSync(folder, { recursive: true, force: true })
}
