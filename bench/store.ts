// The store beside Redis, in the same run: `npm run bench:store [-- records seconds]`.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../test/fixtures/servers.ts'
import { type Goal, guardGoals } from './goals.ts'
import { type Row, reportRows } from './rows.ts'
import type { Contestant } from './store/contestant.ts'
import { openMx } from './store/mx.ts'
import { openRedis } from './store/redis.ts'

const CALLERS = 1000
const [records = 100_000, seconds = 2] = process.argv.slice(2).map(Number)
const VALUE = 'v'.repeat(128)

const toKey = (i: number): string => `user/${String(i).padStart(7, '0')}`

/** Calls a second, of many callers who each wait for their answer. */
async function measureRate(call: (i: number) => Promise<unknown>): Promise<number> {
  const endMs = performance.now() + seconds! * 1000
  const startMs = performance.now()
  let count = 0
  const caller = async (n: number): Promise<void> => {
    for (let i = n; performance.now() < endMs; i = (i + 7919) % records!) {
      await call(i)
      count++
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, n) => caller(n)))
  return Math.round((count / (performance.now() - startMs)) * 1000)
}

/** Milliseconds a page of 1000 takes: median and 99th percentile. */
async function measurePages(readPrefix: Contestant['readPrefix']): Promise<[number, number]> {
  const times: number[] = []
  const endMs = performance.now() + seconds! * 1000
  for (let i = 0; performance.now() < endMs; i = (i + 7919) % records!) {
    const startMs = performance.now()
    const values = await readPrefix(toKey(i).slice(0, -3))
    times.push(performance.now() - startMs)
    if (values.length !== Math.min(1000, records!)) throw new Error(`${values.length} values`)
  }
  times.sort((a, b) => a - b)
  const at = (part: number) => Number(times[Math.floor(times.length * part)]!.toFixed(2))
  return [at(0.5), at(0.99)]
}

const WRITES = 'writes/s'
const READS = 'reads/s'
const PAGE = 'prefix page of 1000, ms, median'

async function measure(contestant: Contestant) {
  const { name, write, read, readPrefix } = contestant
  for (let i = 0; i < records!; i += CALLERS)
    await Promise.all(Array.from({ length: CALLERS }, (_, n) => write(toKey(i + n), VALUE)))
  if ((await read(toKey(1))) !== VALUE) throw new Error(`${name} does not keep what is written`)
  const writes = await measureRate((i) => write(toKey(i), VALUE))
  const reads = await measureRate((i) => read(toKey(i)))
  const [page, slowPage] = await measurePages(readPrefix)
  return { store: name, [WRITES]: writes, [READS]: reads, [PAGE]: page, 'its p99': slowPage }
}

function toGoals({ name, goals }: Contestant, row: Awaited<ReturnType<typeof measure>>): Goal[] {
  if (goals === undefined) return []
  const { writesPerSecond, readsPerSecond, pageMs } = goals
  return [
    { what: `${name}, ${WRITES}`, value: row[WRITES]!, atLeast: writesPerSecond },
    { what: `${name}, ${READS}`, value: row[READS]!, atLeast: readsPerSecond },
    { what: `${name}, ${PAGE}`, value: row[PAGE]!, atMost: pageMs },
  ]
}

const folder = mkdtempSync(join(tmpdir(), 'mx-bench-store-'))
const redis = findProgram('redis-server')
const makeFolder = (name: string): string => {
  mkdirSync(join(folder, name))
  return join(folder, name)
}
const contestants: (() => Promise<Contestant>)[] = [
  () => openMx(makeFolder('os'), 'os'),
  () => openMx(makeFolder('always'), 'always'),
]
if (redis !== undefined)
  contestants.push(
    () => openRedis(redis, makeFolder('everysec'), 'everysec'),
    () => openRedis(redis, makeFolder('redis-always'), 'always'),
  )
else process.stdout.write('redis-server is not installed (scripts/test-servers.sh installs it)\n')

try {
  const rows: Row[] = []
  const goals: Goal[] = []
  for (const open of contestants) {
    const contestant = await open()
    try {
      const row = await measure(contestant)
      rows.push(row)
      goals.push(...toGoals(contestant, row))
    } finally {
      await contestant.close()
    }
  }
  const how = `${records} records of 128 bytes, ${CALLERS} callers at a time`
  reportRows('store', 'The store, called within the process', how, rows)
  guardGoals(goals)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
