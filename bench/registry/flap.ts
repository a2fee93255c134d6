import { rmSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { runWrk } from '../http/load/wrk.ts'
import type { BenchOptions } from '../http/options.ts'
import { readOrigin, writeResult } from '../http/results.ts'
import { findScenario } from '../http/scenarios.ts'
import type { Backend } from '../http/servers/backend.ts'
import { SERVICE } from '../http/servers/documents.ts'
import {
  createFolder,
  isInstalled,
  OTHER_CORES,
  readUsage,
  startProgram,
} from '../http/servers/processes.ts'
import { waitUntilReady } from '../http/servers/ready.ts'
import { median } from '../report/median.ts'
import { toNodeCommand } from '../rivals/rival.ts'
import { readLines, startGateway } from './processes/programs.ts'
import { startRegistry } from './stage.ts'

const STEADY = 20
const FLAPPING = 100
/** Interval at which each flapping node deregisters and registers again. */
const CHANGES_PER_SECOND = 2 * FLAPPING
const WARM_UP_SECONDS = 2

interface Kind {
  readonly title: string
  readonly registry: 'consul' | 'mx'
  readonly perSecond: number
}

const KINDS: readonly Kind[] = [
  { title: 'quiet, registry service', registry: 'mx', perSecond: 0 },
  { title: 'flapping, registry service', registry: 'mx', perSecond: CHANGES_PER_SECOND },
  { title: 'quiet, Consul', registry: 'consul', perSecond: 0 },
  { title: 'flapping, Consul', registry: 'consul', perSecond: CHANGES_PER_SECOND },
]

interface Round {
  readonly cpuMicros: number
  readonly requestsPerSecond: number
  readonly p99Ms: number
  readonly errors: number
}

/**
 * Compares a gateway with many flapping nodes to one with stable nodes, in interleaved rounds. A single program runs
 * all nodes.
 */
export async function measureFlap(options: BenchOptions, backend: Backend): Promise<boolean> {
  const kinds = KINDS.filter(({ registry }) => registry === 'mx' || isInstalled('consul'))
  const rounds = kinds.map(() => [] as Round[])
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, kind] of kinds.entries()) {
      options.onStep(`flap, round ${round + 1} of ${options.rounds}: ${kind.title}`)
      rounds[i]!.push(await measureKind(kind, options, backend))
    }
  }
  return report(kinds, rounds, options, backend)
}

async function measureKind(
  { registry: kind, perSecond }: Kind,
  { connections, seconds }: BenchOptions,
  { servicePort }: Backend,
): Promise<Round> {
  const scenario = findScenario('rpc')
  const closers: (() => Promise<void> | void)[] = []
  try {
    const folder = createFolder()
    closers.push(() => rmSync(folder, { recursive: true, force: true }))
    const registry = await startRegistry(kind)
    closers.push(registry.stop)
    const words = [`go.mx.api.${SERVICE}`, `127.0.0.1:${servicePort}`, STEADY, FLAPPING, perSecond]
    const command = toNodeCommand(
      'registry/processes/flap-process',
      registry.text,
      ...words.map(String),
    )
    const flapper = startProgram(command, OTHER_CORES)
    closers.push(flapper.stop)
    while (readLines(flapper).length === 0) {
      if (flapper.exited()) throw new Error(`the nodes were not registered: ${flapper.output()}`)
      await wait(20)
    }
    const gateway = await startGateway(registry.text)
    closers.push(gateway.stop)
    const url = `http://${gateway.address}${scenario.path}`
    await waitUntilReady(gateway.program, url)
    await runWrk(url, scenario, connections, WARM_UP_SECONDS, folder)
    const before = readUsage(gateway.program.pid)
    const { requests, requestsPerSecond, p99Ms, errors } = await runWrk(
      url,
      scenario,
      connections,
      seconds,
      folder,
    )
    const { cpuMs } = readUsage(gateway.program.pid)
    if (flapper.exited()) throw new Error(`the nodes stopped flapping: ${flapper.output()}`)
    const cpuMicros = ((cpuMs - before.cpuMs) * 1000) / requests
    return { cpuMicros, requestsPerSecond, p99Ms, errors }
  } finally {
    for (const end of closers.reverse()) await end()
  }
}

function report(
  kinds: readonly Kind[],
  measured: readonly (readonly Round[])[],
  options: BenchOptions,
  backend: Backend,
): boolean {
  const rows = kinds.map(({ title, perSecond }, i) => {
    const rounds = measured[i]!
    const toMedian = (read: (round: Round) => number): number => median(rounds.map(read))
    // Each flapping round is compared with the preceding stable one.
    const quiet = measured[perSecond === 0 ? i : i - 1]!
    return {
      title,
      rounds,
      requestsPerSecond: toMedian((round) => round.requestsPerSecond),
      cpuMicros: toMedian((round) => round.cpuMicros),
      p99Ms: toMedian((round) => round.p99Ms),
      ratio: median(rounds.map((round, at) => round.cpuMicros / quiet[at]!.cpuMicros)),
      errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
    }
  })
  const lines = rows.map(
    ({ title, requestsPerSecond, cpuMicros, ratio, p99Ms, errors }) =>
      `| ${title} | ${requestsPerSecond.toFixed(0)} | ${cpuMicros.toFixed(1)} | ${ratio.toFixed(2)} | ${p99Ms.toFixed(2)} | ${errors} |`,
  )
  const table = `${[
    '| nodes, registry | requests/s | CPU µs per request | relative to stable | p99 ms | errors |',
    '|---|--:|--:|--:|--:|--:|',
    ...lines,
  ].join('\n')}\n`
  const note = `\n${STEADY} stable nodes and ${FLAPPING} that deregister and register once per second, or less often if the registry does not keep up; ${options.connections} connections, closed loop, ${options.rounds} interleaved rounds of ${options.seconds} s, medians.\n`
  const title = 'Flapping nodes'
  const origin = readOrigin('npm run bench --', backend.describe(findScenario('rpc')))
  const path = writeResult('flap', title, origin, { rows }, table + note)
  process.stdout.write(`\n## ${title}\n\n${table}${note}\nWritten to ${path}.md and .json\n`)
  return rows.every(({ errors }) => errors === 0)
}
