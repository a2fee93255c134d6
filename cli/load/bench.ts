import { formatLive, formatReport } from './format.ts'
import { parseBenchOptions } from './options.ts'
import { runLoad } from './run-load.ts'

/** Exit codes: measured; nothing could be measured; wrong flags. */
const OK = 0
const FAILED = 1
const USAGE = 2

/**
 * Runs `mx bench` with the words behind it and prints the report. The live line goes to standard error,
 * so that standard output holds the report alone.
 *
 * @returns the exit code.
 */
export async function bench(args: readonly string[]): Promise<number> {
  const stop = new AbortController()
  // Only the first Ctrl-C is caught: a second one ends the process.
  const onInterrupt = () => stop.abort()
  const live = process.stderr.isTTY === true
  try {
    const options = parseBenchOptions(args)
    process.once('SIGINT', onInterrupt)
    const result = await runLoad({
      ...options,
      signal: stop.signal,
      onProgress: live ? (progress) => process.stderr.write(`\r\x1b[K${formatLive(progress)}`) : undefined,
    })
    if (live) process.stderr.write('\r\x1b[K')
    const { method, url } = options.target
    const heading = { method, url, connections: options.connections, rate: options.rate }
    process.stdout.write(
      options.output === 'json' ? `${JSON.stringify({ ...heading, ...result }, null, 2)}\n` : formatReport(heading, result),
    )
    return result.replies > 0 ? OK : FAILED
  } catch (error) {
    process.stderr.write(`mx bench: ${error instanceof Error ? error.message : error}\n`)
    return error instanceof RangeError ? USAGE : FAILED
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}
