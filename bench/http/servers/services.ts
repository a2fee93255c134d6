import { median } from '../../report/median.ts'
import { IDLE_NODES, mx } from '../../rivals/mx.ts'
import { type Measurement, measureRival } from '../measure.ts'
import type { BenchOptions } from '../options.ts'
import { readOrigin, writeResult } from '../results.ts'
import { SCENARIOS } from '../scenarios.ts'
import type { Backend } from './backend.ts'

const KINDS = [0, 4999] as const

/** Compares a gateway with thousands of registered services to a gateway with only the requested service. */
export async function measureServices(options: BenchOptions, backend: Backend): Promise<void> {
  const scenario = SCENARIOS[0]!
  const rounds = KINDS.map(() => [] as Measurement[])
  for (let round = 0; round < options.rounds; round++) {
    for (const [i, idleServices] of KINDS.entries()) {
      options.onStep(`services, round ${round + 1} of ${options.rounds}: ${idleServices + 1}`)
      rounds[i]!.push(await measureRival(mx, scenario, backend, options, { idleServices }))
    }
  }
  const ratios = rounds.map((measured) =>
    median(measured.map(({ cpuMicros }, i) => cpuMicros / rounds[0]![i]!.cpuMicros)),
  )
  const rows = rounds.map((measured, i) => {
    const toMedian = (name: keyof Measurement) => median(measured.map((each) => each[name]))
    return `| ${KINDS[i]! + 1} | ${toMedian('cpuMicros').toFixed(1)} | ${ratios[i]!.toFixed(2)} | ${toMedian('peakMiB').toFixed(0)} |`
  })
  const head = [
    `| services of ${IDLE_NODES} nodes | CPU µs per request | relative to one | peak MiB |`,
    '|--:|--:|--:|--:|',
  ]
  const { connections, seconds } = options
  const conditions = `${connections} connections to one service, ${options.rounds} interleaved rounds of ${seconds} s, medians`
  const table = `${[...head, ...rows].join('\n')}\n\n${conditions}.\n`
  const title = 'Many services compared with one'
  const origin = readOrigin('npm run bench -- services', backend.describe(scenario))
  const path = writeResult('services', title, origin, { rounds }, table)
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
}
