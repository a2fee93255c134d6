import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Scenario } from '../scenario.ts'
import { OTHER_CORES, toPinned } from '../servers/processes.ts'
import type { LoadReport } from './load-report.ts'

/** Units per millisecond, because 567 / 1000 is exact but 567 * 0.001 is not. */
const UNITS: Readonly<Record<string, number>> = { us: 1000, ms: 1, s: 0.001, m: 1 / 60_000 }
const runFile = promisify(execFile)

/** Loads `url` with the scenario's request, using one thread and a closed loop. */
export async function runWrk(
  url: string,
  scenario: Scenario,
  connections: number,
  seconds: number,
  folder: string,
): Promise<LoadReport> {
  const command = [
    'wrk',
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '10s',
    '--latency',
  ]
  if (scenario.accept !== undefined) command.push('-H', `Accept: ${scenario.accept}`)
  if (scenario.gzip === true) command.push('-H', 'Accept-Encoding: gzip')
  if (scenario.method !== 'GET') command.push('-s', writeScript(scenario, folder))
  const [program, ...args] = toPinned([...command, url], OTHER_CORES)
  const { stdout } = await runFile(program!, args, { timeout: (seconds + 30) * 1000 })
  return parseWrk(stdout)
}

/**
 * Parses the output of `wrk --latency`.
 *
 * @throws {Error} with the output if a figure is missing.
 */
export function parseWrk(text: string): LoadReport {
  const find = (pattern: RegExp) => {
    const match = pattern.exec(text)
    if (match === null) throw new Error(`output of wrk without ${pattern}: ${text.slice(0, 500)}`)
    return match
  }
  const percentile = (percent: number) => {
    const [, amount, unit] = find(new RegExp(`^\\s+${percent}%\\s+([\\d.]+)(us|ms|s|m)\\s*$`, 'm'))
    return Number(amount) / UNITS[unit!]!
  }
  const failed =
    /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text)?.slice(1) ??
    []
  const failedStatus = Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0)
  return {
    requests: Number(find(/(\d+) requests in /)[1]),
    requestsPerSecond: Number(find(/Requests\/sec:\s+([\d.]+)/)[1]),
    p50Ms: percentile(50),
    p99Ms: percentile(99),
    errors: failedStatus + failed.reduce((sum, count) => sum + Number(count), 0),
  }
}

function writeScript({ method, body }: Scenario, folder: string): string {
  const lines = [`wrk.method = "${method}"`]
  if (body !== undefined) {
    // Escaped byte by byte, because a body may be binary.
    const bytes = [...body.create()].map((byte) => `\\${String(byte).padStart(3, '0')}`)
    lines.push(`wrk.body = "${bytes.join('')}"`, `wrk.headers["Content-Type"] = "${body.type}"`)
  }
  const file = join(folder, 'request.lua')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}
