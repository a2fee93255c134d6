import { type Command, defineCommand } from '../../command.ts'
import { formatLive, formatReport } from '../../load/format.ts'
import { BENCH_FLAGS, type BenchOptions, parseBenchOptions } from '../../load/options.ts'
import { runLoad } from '../../load/run-load.ts'
import { CliError, EXIT, printProblems, usageError } from '../../ui/output.ts'
import { toRawTerminal } from '../../ui/terminal.ts'

const command: Command = defineCommand({
  name: 'bench',
  description: 'Load-test one route of a running gateway',
  usage: '[METHOD] <path or URL>',
  flags: BENCH_FLAGS,
  examples: [
    'mx bench /greeter/hello',
    `mx bench POST /greeter/hello --body '{"name":"John"}' --rate 5000 --duration 30s`,
  ],
  async run(words, flags) {
    try {
      await bench(parseBenchOptions(words, flags))
    } catch (cause) {
      const { message } = cause as Error
      throw cause instanceof RangeError
        ? usageError('bench', message, cause)
        : new CliError(message, { cause })
    }
  },
})

export default command

/** Runs the load test. Progress goes to standard error, so that standard output contains only the report. */
async function bench(options: BenchOptions): Promise<void> {
  const stop = new AbortController()
  // Only the first Ctrl-C is handled; the second terminates the process.
  const onInterrupt = () => stop.abort()
  const live = process.stderr.isTTY ? toRawTerminal(process.stderr) : undefined
  try {
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
    // Redirects and 304 responses count as successes.
    if (Object.keys(result.statuses).some((status) => Number(status) < 400)) return
    printProblems(['no request succeeded'])
    process.exitCode = EXIT.failed
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}
