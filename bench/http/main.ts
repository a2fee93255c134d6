// Load on the gateway and comparable proxies:
// `npm run bench -- [scenarios|memory|soak|streams|latency|workers|services|flap] [flags]`.

import { type BenchOptions, type MEASUREMENTS, parseOptions } from './options.ts'
import type { Scenario } from './scenario.ts'
import { findScenario, SCENARIOS } from './scenarios.ts'
import { type Backend, startBackend } from './servers/backend.ts'
import { isInstalled } from './servers/processes.ts'

/** Resolves to false if a check fails. */
type Measure = (options: BenchOptions, backend: Backend) => Promise<unknown>

const LOADERS: Readonly<Record<(typeof MEASUREMENTS)[number], () => Promise<Measure>>> = {
  scenarios: async () => (await import('./scenario-run.ts')).runScenarios,
  memory: async () => (await import('./memory.ts')).measureMemory,
  soak: async () => (await import('./soak.ts')).runSoak,
  streams: async () => (await import('./load/streams.ts')).measureStreams,
  latency: async () => (await import('./load/latency.ts')).measureLatency,
  workers: async () => (await import('./servers/workers.ts')).measureWorkers,
  services: async () => (await import('./servers/services.ts')).measureServices,
  flap: async () => (await import('../registry/flap.ts')).measureFlap,
}

/** Scenarios that the backend must serve. */
function listScenarios({ measurement, scenarios }: BenchOptions): readonly Scenario[] {
  if (measurement === 'scenarios') return scenarios
  if (measurement === 'flap') return [findScenario('rpc')]
  return measurement === 'streams' ? [findScenario('rpc-stream')] : [SCENARIOS[0]!]
}

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  if (!isInstalled('wrk')) throw new Error('wrk is not installed: apt-get install wrk')
  const measure = await LOADERS[options.measurement]()
  const backend = await startBackend(listScenarios(options))
  try {
    if ((await measure(options, backend)) === false) process.exitCode = 1
  } finally {
    await backend.stop()
  }
}

main().catch((error) => {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = error instanceof RangeError ? 2 : 1
})
