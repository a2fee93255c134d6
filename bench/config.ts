// Configuration calls, compared with Consul's key-value store in the same run: `npm run bench config [-- values
// seconds]`.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../test/fixtures/servers.ts'
import { openConsul } from './config/consul.ts'
import type { Contestant } from './config/contestant.ts'
import { type MxOptions, openMx } from './config/mx.ts'
import { type Row, reportRows } from './report/rows.ts'

const CALLERS = 100
const [values = 1000, seconds = 2] = process.argv.slice(2).map(Number)
const VALUE = 'v'.repeat(64)

const toKey = (i: number): string => `service${i % 20}.key${i}`

/** Measures calls per second in a closed loop. */
async function measureRate(call: (i: number) => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  const endMs = startMs + seconds! * 1000
  let count = 0
  const caller = async (n: number): Promise<void> => {
    for (let i = n; performance.now() < endMs; i = (i + 7919) % values!) {
      await call(i)
      count++
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, n) => caller(n)))
  return Math.round((count / (performance.now() - startMs)) * 1000)
}

async function measure({ name, set, get }: Contestant): Promise<Record<string, string | number>> {
  for (let i = 0; i < values!; i++) await set(toKey(i), VALUE)
  if ((await get(toKey(1))) !== VALUE) throw new Error(`${name} did not store a value`)
  let n = 0
  return {
    configuration: name,
    // Each value is different, because setting the same value again would be a no-op.
    'sets/s': await measureRate((i) => set(toKey(i), `${VALUE}${n++}`)),
    'gets/s': await measureRate((i) => get(toKey(i))),
  }
}

const folder = mkdtempSync(join(tmpdir(), 'mx-bench-config-'))
let folders = 0
const open = (options: Omit<MxOptions, 'folder'>) => () => {
  const dataFolder = join(folder, String(folders++))
  mkdirSync(dataFolder)
  return openMx({ ...options, folder: dataFolder })
}
const contestants: (() => Promise<Contestant>)[] = [
  open({ sync: 'os', socket: false, secret: false }),
  open({ sync: 'os', socket: true, secret: false }),
  open({ sync: 'always', socket: true, secret: false }),
  open({ sync: 'os', socket: true, secret: true }),
]
const consul = findProgram('consul')
if (consul !== undefined) contestants.push(() => openConsul(consul))
else process.stdout.write('consul is not installed (scripts/test-servers.sh installs it)\n')

try {
  const rows: Row[] = []
  for (const openContestant of contestants) {
    const contestant = await openContestant()
    try {
      rows.push(await measure(contestant))
    } finally {
      await contestant.close()
    }
  }
  const conditions = `${values} values of 64 bytes in one tree, ${CALLERS} concurrent callers`
  reportRows('config', 'Configuration values', conditions, rows)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
