import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Scenario } from '../scenario.ts'
import { OTHER_CORES, toPinned } from '../servers/processes.ts'
import type { LoadReport } from './load-report.ts'

/** Concurrent requests per connection. */
export const STREAMS = 8

const runFile = promisify(execFile)

/**
 * Loads `url` over HTTP/2 with the scenario's request, using one thread, a closed loop and {@link STREAMS} per
 * connection.
 */
export async function runH2load(
  url: string,
  scenario: Scenario,
  connections: number,
  seconds: number,
  folder: string,
): Promise<LoadReport> {
  const log = join(folder, 'h2load.log')
  const command = ['h2load', '-t1', `-c${connections}`, `-m${STREAMS}`, `-D${seconds}`]
  command.push(`--log-file=${log}`)
  const { body } = scenario
  if (body !== undefined) {
    const file = join(folder, 'request.bin')
    writeFileSync(file, body.create())
    command.push('-d', file, '-H', `content-type: ${body.type}`, '-H', 'te: trailers')
  }
  const [program, ...args] = toPinned([...command, url], OTHER_CORES)
  try {
    const { stdout } = await runFile(program!, args, { timeout: (seconds + 30) * 1000 })
    return { ...parseH2load(stdout), ...readLatencies(readFileSync(log, 'utf8')) }
  } finally {
    rmSync(log, { force: true })
  }
}

/**
 * Parses the output of `h2load`.
 *
 * @throws {Error} with the output if a figure is missing.
 */
export function parseH2load(text: string): Omit<LoadReport, 'p50Ms' | 'p99Ms'> {
  const find = (pattern: RegExp) => {
    const match = pattern.exec(text)
    if (match === null)
      throw new Error(`output of h2load without ${pattern}: ${text.slice(0, 500)}`)
    return match
  }
  const [, succeeded, failed, errored, timeout] = find(
    /(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/,
  )
  return {
    requests: Number(succeeded),
    requestsPerSecond: Number(find(/finished in [^,]+, ([\d.]+) req\/s/)[1]),
    // `failed` includes `errored` and `timeout`.
    errors: Math.max(Number(failed), Number(errored) + Number(timeout)),
  }
}

/**
 * Percentiles from an `h2load --log-file` log, whose lines contain start, status and microseconds of each request.
 */
export function readLatencies(log: string): Pick<LoadReport, 'p50Ms' | 'p99Ms'> {
  const micros = Float64Array.from(log.trimEnd().split('\n'), (line) => Number(line.split('\t')[2]))
  micros.sort()
  const at = (percent: number) => micros[Math.floor((micros.length - 1) * percent)]! / 1000
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
