// Measures every rival in every scenario: `npm run bench -- --scenario proxy --only nginx,mx`.
import { startBackend } from './backend.ts'
import { type BenchOptions, parseOptions } from './options.ts'
import { isInstalled } from './processes.ts'
import { readOrigin, writeResult } from './results.ts'
import { runRounds } from './rounds.ts'
import type { Scenario } from './scenarios.ts'
import { formatTable } from './table.ts'

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  if (!isInstalled('wrk')) throw new Error('wrk is not installed: apt-get install wrk')
  const backend = await startBackend()
  try {
    for (const scenario of options.scenarios) await measure(scenario, options, backend)
  } finally {
    await backend.stop()
  }
}

async function measure(scenario: Scenario, options: BenchOptions, backend: { port: number; description: string }): Promise<void> {
  const { tls, pipeline, accessLog } = scenario
  const site = { tls: tls ? { certFile: '', keyFile: '' } : undefined, pipeline, workers: 1, accessLog }
  const rivals = options.rivals.filter((rival) => (scenario.rivals?.includes(rival.name) ?? true) && rival.serves(site))
  const onStep = (step: string) => process.stderr.write(`${step}\n`)
  const rows = await runRounds(rivals, scenario, { ...options, backendPort: backend.port, onStep })
  const { connections, seconds, rounds } = options
  const table = formatTable(rows)
  const note = `\n${connections} connections, closed loop, ${rounds} interleaved rounds of ${seconds} s, medians (extremes in parentheses).\n`
  const origin = readOrigin('npm run bench --', backend.description)
  const path = writeResult(scenario.name, scenario.title, origin, { scenario, connections, seconds, rows }, table + note)
  process.stdout.write(`\n## ${scenario.title}\n\n${table}${note}\nWritten to ${path}.md and .json\n\n`)
}

main().catch((error) => {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = error instanceof RangeError ? 2 : 1
})
