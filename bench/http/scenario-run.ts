import type { Rival } from '../rivals/rival.ts'
import type { BenchOptions } from './options.ts'
import { readOrigin, writeResult } from './results.ts'
import { runRounds } from './rounds.ts'
import type { Scenario } from './scenario.ts'
import type { Backend } from './servers/backend.ts'
import { formatTable } from './table.ts'

/** Rivals that support a scenario. */
export function pickRivals(rivals: readonly Rival[], scenario: Scenario): readonly Rival[] {
  const { tls, pipeline, accessLog } = scenario
  const site = {
    tls: tls ? { certFile: '', keyFile: '' } : undefined,
    pipeline,
    workers: 1,
    accessLog,
  }
  return rivals.filter(
    (rival) => (scenario.rivals?.includes(rival.name) ?? true) && rival.serves(site),
  )
}

/** Measures all rivals in all selected scenarios; prints and saves a table for each. */
export async function runScenarios(options: BenchOptions, backend: Backend): Promise<void> {
  for (const scenario of options.scenarios) await runScenario(scenario, options, backend)
}

async function runScenario(
  scenario: Scenario,
  options: BenchOptions,
  backend: Backend,
): Promise<void> {
  const { rounds, onStep } = options
  const connections = scenario.connections ?? options.connections
  const seconds = Math.max(options.seconds, scenario.minSeconds ?? 0)
  const rows = await runRounds(pickRivals(options.rivals, scenario), scenario, {
    connections,
    seconds,
    rounds,
    onStep,
    ports: backend,
  })
  const table = formatTable(rows)
  const note = `\n${connections} connections, closed loop, ${rounds} interleaved rounds of ${seconds} s, medians (extremes in parentheses).\n`
  const origin = readOrigin('npm run bench --', backend.describe(scenario))
  const path = writeResult(
    scenario.name,
    scenario.title,
    origin,
    { scenario, connections, seconds, rows },
    table + note,
  )
  process.stdout.write(
    `\n## ${scenario.title}\n\n${table}${note}\nWritten to ${path}.md and .json\n\n`,
  )
}
