// Fails if the CPU time per request relative to nginx exceeds the baseline: `npm run bench guard`. `--record` saves the
// baseline.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readMachine } from './http/machine.ts'
import { RESULTS } from './http/results.ts'
import { runRounds } from './http/rounds.ts'
import { SCENARIOS } from './http/scenarios.ts'
import { startBackend } from './http/servers/backend.ts'
import { isInstalled } from './http/servers/processes.ts'
import { compareRatios, type Recorded, toRecorded } from './report/ratios.ts'
import { mx } from './rivals/mx.ts'
import { nginx } from './rivals/nginx.ts'
import { uwsFloor } from './rivals/uws-floor.ts'

const FILE = join(RESULTS, 'recorded.json')
const GUARDED: readonly string[] = ['proxy', 'proxy-pipelined', 'rpc', 'post']
const ROUNDS = 3

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: { record: { type: 'boolean' }, seconds: { type: 'string' } },
  })
  const seconds = Number(values.seconds ?? 5)
  if (!isInstalled('wrk')) throw new Error('wrk is not installed: apt-get install wrk')
  if (values.record !== true && !existsSync(FILE)) {
    throw new Error(`no baseline in ${FILE}: run npm run bench guard -- --record`)
  }
  const base = nginx.version() === undefined ? uwsFloor : nginx
  const ratios: Record<string, number> = {}
  const scenarios = SCENARIOS.filter(({ name }) => GUARDED.includes(name))
  const backend = await startBackend(scenarios)
  try {
    for (const scenario of scenarios) {
      const onStep = (step: string) => process.stderr.write(`${step}\n`)
      const rows = await runRounds([base, mx], scenario, {
        rounds: ROUNDS,
        seconds,
        connections: 64,
        ports: backend,
        onStep,
      })
      for (const { problem } of rows) if (problem !== undefined) throw new Error(problem)
      const errors = rows.reduce((sum, row) => sum + row.median.errors, 0)
      if (errors > 0)
        throw new Error(`${scenario.name}: ${errors} requests failed, so its ratio is invalid`)
      ratios[scenario.name] = rows[1]!.ratio
    }
  } finally {
    await backend.stop()
  }
  const current = toRecorded(base.name, ratios, readMachine())
  if (values.record === true) {
    mkdirSync(RESULTS, { recursive: true })
    writeFileSync(FILE, `${JSON.stringify(current, null, 2)}\n`)
    process.stdout.write(`baseline saved in ${FILE}\n`)
    return true
  }
  const { lines, passed } = compareRatios(
    JSON.parse(readFileSync(FILE, 'utf8')) as Recorded,
    current,
  )
  process.stdout.write(`${lines.join('\n')}\n`)
  return passed
}

main().then(
  (passed) => {
    process.exitCode = passed ? 0 : 1
  },
  (error) => {
    process.stderr.write(`bench guard: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  },
)
