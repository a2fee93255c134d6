import { availableParallelism } from 'node:os'
import { median } from '../../report/median.ts'
import { mx } from '../../rivals/mx.ts'
import { runWrk } from '../load/wrk.ts'
import { startRival } from '../measure.ts'
import type { BenchOptions } from '../options.ts'
import { readOrigin, writeResult } from '../results.ts'
import { SCENARIOS } from '../scenarios.ts'
import type { Backend } from './backend.ts'

/** Two processors for the workers, and two so that the load generator and backend are not the bottleneck. */
const CORES_NEEDED = 4

/** Compares the throughput of two workers with one. */
export async function measureWorkers(options: BenchOptions, backend: Backend): Promise<void> {
  const cores = availableParallelism()
  if (cores < CORES_NEEDED) {
    process.stdout.write(
      `workers: skipped, requires ${CORES_NEEDED} processors, this machine has ${cores}\n`,
    )
    return
  }
  const scenario = SCENARIOS[0]!
  const rates: Record<1 | 2, number[]> = { 1: [], 2: [] }
  for (let round = 0; round < options.rounds; round++) {
    for (const workers of [1, 2] as const) {
      options.onStep(`workers, round ${round + 1} of ${options.rounds}: ${workers}`)
      const running = await startRival(mx, scenario, backend, {
        workers,
        cores: workers === 1 ? [0] : [0, 2],
      })
      try {
        await runWrk(running.url, scenario, options.connections, 1, running.site.folder)
        const report = await runWrk(
          running.url,
          scenario,
          options.connections,
          options.seconds,
          running.site.folder,
        )
        rates[workers].push(report.requestsPerSecond)
      } finally {
        await running.stop()
      }
    }
  }
  const singleRate = median(rates[1])
  const two = median(rates[2])
  const table = `${[
    '| workers | requests/s | relative to one |',
    '|--:|--:|--:|',
    `| 1 | ${singleRate.toFixed(0)} | 1.00 |`,
    `| 2 | ${two.toFixed(0)} | ${(two / singleRate).toFixed(2)} |`,
  ].join('\n')}\n`
  const title = 'Two workers compared with one'
  const path = writeResult(
    'workers',
    title,
    readOrigin('npm run bench --', backend.describe(SCENARIOS[0]!)),
    { rates },
    table,
  )
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
}
