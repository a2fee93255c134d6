import type { CAC } from 'cac'
import { suggest } from '../core/suggest.ts'
import { type CommandLine, readCommandLine } from './command-line.ts'
import { formatEach, OUTPUT_FLAGS, toFormat } from './format.ts'
import { CliError, EXIT } from './output.ts'
import { printStream } from './print-stream.ts'
import { listObjects, parseObject } from './runtime/objects.ts'
import { isNotFound, openSession, SESSION_FLAGS } from './session.ts'
import { parseSince } from './since.ts'

const FLAGS = {
  ...SESSION_FLAGS,
  ...OUTPUT_FLAGS,
  follow: 'boolean',
  lines: 'string',
  since: 'string',
  version: 'string',
} as const

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

/** Shows what something that runs has written, and with `-f` what it goes on writing. @throws {CliError} */
export async function runLogs(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  if (words.length !== 1) throw usage('one name is needed')
  const { name, version } = parseObject(words[0]!)
  const { follow = false } = flags
  const format = toFormat(flags)
  const { count, since } = toRange(flags)
  const session = openSession(flags)
  const { namespace } = session
  const request = {
    ...{ service: name, version: flags.version ?? version, stream: follow },
    ...{ count, since, options: { namespace } },
  }
  try {
    await printStream(session.stream<LogRecord>('runtime', 'Runtime.Logs', request), (record) =>
      format === 'text' ? `${record.message}\n` : formatEach(format, record),
    )
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
}

/** How many lines, and since when in Unix seconds, as the service takes it; 0: all. */
function toRange({ lines, since }: CommandLine<typeof FLAGS>['flags']) {
  const wanted = lines ?? (since === undefined ? DEFAULT_LINES : ALL)
  if (wanted !== ALL && !/^\d{1,9}$/.test(wanted))
    throw usage(`--lines must be a whole number or ${ALL}, got ${wanted}`)
  // None: those that come are written later than now.
  if (Number(wanted) === 0) return { count: 0, since: Math.ceil(Date.now() / 1000) }
  return {
    count: wanted === ALL ? 0 : Number(wanted),
    since: since === undefined ? 0 : Math.floor(parseSince(since, '--since') / 1000),
  }
}

function usage(message: string): CliError {
  return new CliError(`${message}. See 'mx logs --help'`, { status: EXIT.usage })
}
