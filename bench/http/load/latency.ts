import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { LoadResult } from '../../../cli/load/run-load.ts'
import { median } from '../../report/median.ts'
import { type Rival, toNodeCommand } from '../../rivals/rival.ts'
import { startRival } from '../measure.ts'
import type { BenchOptions } from '../options.ts'
import { readOrigin, writeResult } from '../results.ts'
import type { Scenario } from '../scenario.ts'
import { pickRivals } from '../scenario-run.ts'
import { SCENARIOS } from '../scenarios.ts'
import type { Backend } from '../servers/backend.ts'
import { OTHER_CORES, toPinned } from '../servers/processes.ts'
import { runWrk } from './wrk.ts'

const runFile = promisify(execFile)
const SATURATE_SECONDS = 3

/**
 * Measures latency at a fixed rate: half of the saturation of the slowest rival, the same for all rivals. Requests are
 * sent in an open loop, and latency is measured from their scheduled time.
 */
export async function measureLatency(options: BenchOptions, backend: Backend): Promise<void> {
  const scenario = SCENARIOS[0]!
  const rivals = pickRivals(options.rivals, scenario).filter(
    ({ name }) => name === 'nginx' || name === 'mx',
  )
  const maxRates: number[] = []
  for (const rival of rivals) {
    options.onStep(`latency: capacity of ${rival.name}`)
    maxRates.push(await saturate(rival, scenario, options, backend))
  }
  const rate = Math.floor(Math.min(...maxRates) / 2)
  const results = rivals.map(() => [] as LoadResult[])
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, rival] of rivals.entries()) {
      options.onStep(
        `latency, round ${round + 1} of ${options.rounds}: ${rival.name} at ${rate} requests/s`,
      )
      results[i]!.push(await drive(rival, scenario, rate, options, backend))
    }
  }
  report(rivals, results, rate, options, backend)
}

async function saturate(
  rival: Rival,
  scenario: Scenario,
  { connections }: BenchOptions,
  backend: Backend,
): Promise<number> {
  const running = await startRival(rival, scenario, backend)
  try {
    return (await runWrk(running.url, scenario, connections, SATURATE_SECONDS, running.site.folder))
      .requestsPerSecond
  } finally {
    await running.stop()
  }
}

async function drive(
  rival: Rival,
  scenario: Scenario,
  rate: number,
  options: BenchOptions,
  backend: Backend,
): Promise<LoadResult> {
  const running = await startRival(rival, scenario, backend)
  try {
    const flags = [
      '--connections',
      String(options.connections),
      '--rate',
      String(rate),
      '-o',
      'json',
    ]
    const send = async (seconds: number) => {
      const command = toNodeCommand(
        'http/load/open-loop',
        running.url,
        '--duration',
        `${seconds}s`,
        ...flags,
      )
      const [program, ...args] = toPinned(command, OTHER_CORES)
      const { stdout } = await runFile(program!, args)
      return JSON.parse(stdout) as LoadResult
    }
    await send(Math.min(2, options.seconds))
    return await send(options.seconds)
  } finally {
    await running.stop()
  }
}

function report(
  rivals: readonly Rival[],
  results: readonly LoadResult[][],
  rate: number,
  options: BenchOptions,
  backend: Backend,
): void {
  const lines = [
    '| program, one core | requests/s | p50 ms | p99 ms | p99.9 ms | late or failed |',
    '|---|--:|--:|--:|--:|--:|',
  ]
  const rows = rivals.map((rival, i) => {
    const rounds = results[i]!
    const toMedian = (read: (result: LoadResult) => number) => median(rounds.map(read))
    const failed = rounds.reduce(
      (sum, each) => sum + each.overdue + each.sent - (each.statuses['200'] ?? 0),
      0,
    )
    const row = {
      name: rival.name,
      version: rival.version(),
      requestsPerSecond: toMedian((each) => each.requestsPerSecond),
      p50Ms: toMedian((each) => each.latency.p50),
      p99Ms: toMedian((each) => each.latency.p99),
      p999Ms: toMedian((each) => each.latency.p999),
      failed,
    }
    const figures = [row.p50Ms, row.p99Ms, row.p999Ms]
      .map((milliseconds) => milliseconds.toFixed(3))
      .join(' | ')
    lines.push(
      `| ${rival.title} ${row.version} | ${row.requestsPerSecond.toFixed(0)} | ${figures} | ${failed} |`,
    )
    return row
  })
  const note = `\n${rate} requests/s, half of the saturation of the slowest rival, over ${options.connections} connections; ${options.rounds} interleaved rounds of ${options.seconds} s, medians. Latency is measured from the scheduled time of a request.\n`
  const table = `${lines.join('\n')}\n${note}`
  const title = 'Latency at half of saturation'
  const path = writeResult(
    'latency',
    title,
    readOrigin('npm run bench --', backend.describe(SCENARIOS[0]!)),
    { rate, rows },
    table,
  )
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
}
