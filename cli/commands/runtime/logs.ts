import { formatWrittenLine, hasColors } from '../../../lib/log/format-line.ts'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import { createLogPosition } from '../../../sdk/runtime/log-cursor.ts'
import type { FlagsOf } from '../../args/args.ts'
import { parseSince } from '../../args/since.ts'
import { type Command, defineCommand } from '../../command.ts'
import { followBuild } from '../../runtime/follow-build.ts'
import { listObjects, parseObject } from '../../runtime/objects.ts'
import { isNotFound, openSession, type Session, sessionFlags } from '../../session/session.ts'
import { type Format, formatEach, toFormat } from '../../ui/format.ts'
import { CliError, usageError } from '../../ui/output.ts'
import { printStream } from '../../ui/print-stream.ts'

const FLAGS = {
  '-f, --follow': 'Follow the log',
  '-n, --lines <n>': 'Number of last lines, or all (default: 15; all with --since)',
  '--since <duration or time>': 'Start of the range, such as 10m or 2026-01-31T12:00:00Z',
  '--build': 'Show the output of the last build',
  '--version <version>': 'Branch or commit; alias of the part after the @',
  '-o, --output <format>':
    'text, json or yaml; json and yaml include time, instance and stream (default: text)',
  ...sessionFlags('Namespace of the service'),
}
/** A log line of the `runtime` service (reference 7.1). */
interface LogRecord {
  /** Unix time in milliseconds. */
  readonly timestamp: number
  /** Keys are `instance` and `stream`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
}

const DEFAULT_LINES = '15'
const ALL = 'all'

const command: Command = defineCommand({
  name: 'logs',
  description: 'Show the logs of a service',
  usage: '<name>[@<branch or commit>]',
  flags: FLAGS,
  examples: ['mx logs -f helloworld', 'mx logs helloworld --since 1h -o json'],
  async run(words, flags) {
    if (words.length !== 1) throw usageError('logs', `expected one name, got ${words.length}`)
    const { name, version } = parseObject(words[0]!)
    const target = { name, version: flags.version ?? version }
    const { build = false, output } = flags
    if (build && (flags.lines ?? flags.since ?? output) !== undefined)
      throw usageError('logs', '--build cannot be combined with --lines, --since or --output')
    const format = toFormat(flags)
    const range = toRange(flags)
    const session = openSession(flags)
    try {
      if (build) await printStream(followBuild(session, target), (text) => text)
      else await printLines(session, target, { ...range, stream: flags.follow ?? false }, format)
    } catch (error) {
      if (!isNotFound(error)) throw error
      const objects = await listObjects(session).catch(() => [])
      const similar = suggest(
        name,
        objects.map((object) => object.name),
      )
      const hint = similar === undefined ? ". See 'mx status'" : `, did you mean ${similar}?`
      throw new CliError(`Logs not found for service ${name}${hint}`, { cause: error })
    } finally {
      session.close()
    }
  },
})

export default command

async function printLines(
  { stream, namespace }: Session,
  { name, version }: { readonly name: string; readonly version: string },
  range: { readonly count: number; readonly since: number; readonly stream: boolean },
  format: Format,
): Promise<void> {
  const position = createLogPosition(range)
  const toRequest = () => ({
    ...{ service: name, version, ...position.toRequest(), stream: range.stream },
    options: { namespace },
  })
  // A pipe receives the lines unchanged.
  const toText = process.stdout.isTTY
    ? (message: string) => formatWrittenLine(message, hasColors())
    : (message: string) => `${message}\n`
  let isEmpty = true
  let previous: string | undefined
  /** During an update, lines of two instances alternate. */
  const toHeading = (instance: string): string => {
    const hasChanged = previous !== undefined && instance !== previous
    previous = instance
    return hasChanged && process.stdout.isTTY ? `==> instance ${instance} <==\n` : ''
  }
  const lines = stream<LogRecord>('runtime', 'Runtime.Logs', toRequest(), { resume: toRequest })
  await printStream(lines, (line) => {
    if (!position.isNew(line)) return ''
    isEmpty = false
    if (format !== 'text') return formatEach(format, line)
    return toHeading(line.metadata['instance'] ?? '') + toText(line.message)
  })
  const object = version === '' ? name : `${name}@${version}`
  if (isEmpty && !range.stream && range.since === 0)
    process.stderr.write(
      `mx: no logs of ${object} yet; 'mx logs ${object} --build' shows the output of its build\n`,
    )
}

/** Number of lines and start in Unix seconds, as expected by the service; 0 for all. */
function toRange({ lines, since }: FlagsOf<typeof FLAGS>) {
  const count = lines ?? (since === undefined ? DEFAULT_LINES : ALL)
  if (count !== ALL && !/^\d{1,9}$/.test(count))
    throw usageError('logs', `--lines must be a whole number or ${ALL}, got ${count}`)
  // 0 lines selects only lines written from now on.
  if (Number(count) === 0) return { count: 0, since: Math.ceil(Date.now() / 1000) }
  return {
    count: count === ALL ? 0 : Number(count),
    since: since === undefined ? 0 : Math.floor(parseSince(since, '--since') / 1000),
  }
}
