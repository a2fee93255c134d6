import { EXIT, printProblems } from '../ui/output.ts'
import { toRawTerminal } from '../ui/terminal.ts'
import { formatLive, formatReport } from './format.ts'
import { parseBenchOptions } from './options.ts'
import { runLoad } from './run-load.ts'

/**
 * Runs `mx bench` with the words behind it and prints the report. The live line goes to standard error,
 * so that standard output holds the report alone.
 *
 * @returns the exit status; failed when no request got a reply below 400.
 */
export async function bench(args: readonly string[]): Promise<number> {
  const stop = new AbortController()
  // Only the first Ctrl-C is caught: a second one ends the process.
  const onInterrupt = () => stop.abort()
  const live = process.stderr.isTTY ? toRawTerminal(process.stderr) : undefined
  try {
    const options = parseBenchOptions(args)
    process.once('SIGINT', onInterrupt)
    const result = await runLoad({
      ...options,
      signal: stop.signal,
      onProgress: live && ((progress) => live.write(`\r\x1b[K${formatLive(progress)}`)),
    })
    live?.write('\r\x1b[K')
    const { method, url } = options.target
    const heading = { method, url, connections: options.connections, rate: options.rate }
    process.stdout.write(
      options.output === 'json'
        ? `${JSON.stringify({ ...heading, ...result }, null, 2)}\n`
        : formatReport(heading, result),
    )
    // Redirects and not-modified replies are as good as any; errors alone measured nothing but errors.
    if (Object.keys(result.statuses).some((status) => Number(status) < 400)) return EXIT.ok
    printProblems(['no request succeeded'])
    return EXIT.failed
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const isUsage = error instanceof RangeError
    printProblems([
      isUsage ? `${message}${message.endsWith('?') ? '' : '.'} See 'mx bench --help'` : message,
    ])
    return isUsage ? EXIT.usage : EXIT.failed
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}
