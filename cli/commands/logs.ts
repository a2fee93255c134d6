import { formatWrittenLine, hasColors } from '../../lib/log/format-line.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { createLogPosition } from '../../sdk/runtime/log-cursor.ts'
import type { FlagsOf } from '../args/args.ts'
import { parseSince } from '../args/since.ts'
import { type Command, defineCommand } from '../command.ts'
import { followBuild } from '../runtime/follow-build.ts'
import { listObjects, parseObject } from '../runtime/objects.ts'
import { isNotFound, openSession, type Session, sessionFlags } from '../session/session.ts'
import { type Format, formatEach, toFormat } from '../ui/format.ts'
import { CliError, usageError } from '../ui/output.ts'
import { printStream } from '../ui/print-stream.ts'

const FLAGS = {
  '-f, --follow': 'Go on with what it writes from now on',
  '-n, --lines <n>': 'The last lines, or all (default: 15; with --since all)',
  '--since <span or time>': 'Only what is not older, such as 10m or 2026-01-31T12:00:00Z',
  '--build': 'What its last build wrote, in place of what it writes',
  '--version <version>': 'The branch or commit, in place of what stands behind the @',
  '-o, --output <format>': 'text; json or yaml with time, instance and stream (default: text)',
  ...sessionFlags('Namespace it runs in'),
}
/** As the service `runtime` tells it (reference 7.1). */
interface LogRecord {
  /** Unix time in milliseconds. */
  readonly timestamp: number
  /** `instance` and `stream`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
}

const DEFAULT_LINES = '15'
const ALL = 'all'

const command: Command = defineCommand({
  name: 'logs',
  description: 'Show what a service has written',
  usage: '<name>[@<branch or commit>]',
  flags: FLAGS,
  examples: ['mx logs -f helloworld'],
  async run(words, flags) {
    if (words.length !== 1) throw usageError('logs', 'one name is needed')
    const { name, version } = parseObject(words[0]!)
    const of = { name, version: flags.version ?? version }
    const { build = false, output } = flags
    if (build && (flags.lines ?? flags.since ?? output) !== undefined)
      throw usageError(
        'logs',
        '--build shows all that a build wrote, as it is: no --lines, --since or --output',
      )
    const format = toFormat(flags)
    const range = toRange(flags)
    const session = openSession(flags)
    try {
      if (build) await printStream(followBuild(session, of), (text) => text)
      else await printLines(session, of, { ...range, stream: flags.follow ?? false }, format)
    } catch (error) {
      if (!isNotFound(error)) throw error
      const objects = await listObjects(session).catch(() => [])
      const meant = suggest(
        name,
        objects.map((object) => object.name),
      )
      const hint = meant === undefined ? ". See 'mx status'" : `, did you mean ${meant}?`
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
  wanted: { readonly count: number; readonly since: number; readonly stream: boolean },
  format: Format,
): Promise<void> {
  const position = createLogPosition(wanted)
  const toRequest = () => ({
    ...{ service: name, version, ...position.toRequest(), stream: wanted.stream },
    options: { namespace },
  })
  // Programs that read a pipe get what was written.
  const toText = process.stdout.isTTY
    ? (message: string) => formatWrittenLine(message, hasColors())
    : (message: string) => `${message}\n`
  let isNothing = true
  let previous: string | undefined
  /** An update has lines of two instances: the last one written need not be of the one that runs. */
  const toHeading = (instance: string): string => {
    const isOther = previous !== undefined && instance !== previous
    previous = instance
    return isOther && process.stdout.isTTY ? `==> instance ${instance} <==\n` : ''
  }
  const lines = stream<LogRecord>('runtime', 'Runtime.Logs', toRequest(), { resume: toRequest })
  await printStream(lines, (line) => {
    if (!position.isNew(line)) return ''
    isNothing = false
    if (format !== 'text') return formatEach(format, line)
    return toHeading(line.metadata['instance'] ?? '') + toText(line.message)
  })
  const object = version === '' ? name : `${name}@${version}`
  if (isNothing && !wanted.stream && wanted.since === 0)
    process.stderr.write(
      `mx: ${object} has written nothing; 'mx logs ${object} --build' shows what its build wrote\n`,
    )
}

/** How many lines, and since when in Unix seconds, as the service takes it; 0: all. */
function toRange({ lines, since }: FlagsOf<typeof FLAGS>) {
  const wanted = lines ?? (since === undefined ? DEFAULT_LINES : ALL)
  if (wanted !== ALL && !/^\d{1,9}$/.test(wanted))
    throw usageError('logs', `--lines must be a whole number or ${ALL}, got ${wanted}`)
  // None: those that come are written later than now.
  if (Number(wanted) === 0) return { count: 0, since: Math.ceil(Date.now() / 1000) }
  return {
    count: wanted === ALL ? 0 : Number(wanted),
    since: since === undefined ? 0 : Math.floor(parseSince(since, '--since') / 1000),
  }
}
