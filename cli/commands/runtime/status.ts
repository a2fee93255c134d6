import { type Command, defineCommand } from '../../command.ts'
import { formatAgo } from '../../runtime/format-ago.ts'
import {
  findObject,
  listObjects,
  parseObject,
  type RuntimeObject,
  toStatus,
} from '../../runtime/objects.ts'
import { findUrl } from '../../runtime/service-url.ts'
import { formatLatency, formatShare, readRates } from '../../session/rates.ts'
import { openSession, type Session, sessionFlags } from '../../session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { CliError, EXIT } from '../../ui/output.ts'
import { formatTable } from '../../ui/table.ts'

const HEADINGS = ['NAME', 'VERSION', 'SOURCE', 'STATUS', 'BUILD', 'UPDATED', 'METADATA']
const NONE = 'n/a'
const BUILD_LENGTH = 7
/** Metadata shown in the METADATA column, each with its first line only. */
const METADATA_KEYS = ['owner', 'group', 'update', 'error', 'restarts', 'lastFailure']
/** Order in the column on a terminal; unlisted metadata, such as the owner, comes last. */
const ON_TERMINAL = [
  'error',
  'update',
  'url',
  'restarts',
  'lastFailure',
  'requests',
  'errors',
  'p99',
]
/** Maximum number of services for which URLs are shown, because each URL requires a call. */
const MAX_URLS = 100

/** URL of a service and its requests in the last minute; empty without permission or traffic. */
interface Traffic {
  readonly url?: string | undefined
  readonly requests_per_second?: number | undefined
  /** Share of 5xx responses, 0 to 1. */
  readonly error_share?: number | undefined
  readonly p99_ms?: number | undefined
}

const command: Command = defineCommand({
  name: 'status',
  description: 'Show the services that the platform runs',
  usage: '[<name or source> [<version>]]',
  flags: {
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the services'),
  },
  examples: ['mx status', 'mx status helloworld -o json'],
  async run(words, flags) {
    if (words.length > 2)
      throw usage(
        `expected at most a name and a version, got ${words.join(', ')}. See 'mx status --help'`,
      )
    const format = toFormat(flags)
    const session = openSession(flags)
    try {
      const [text, version] = words
      const target = text === undefined ? undefined : parseObject(text)
      const objects =
        target === undefined
          ? await listObjects(session)
          : [await findObject(session, target.name, version ?? target.version)]
      const traffic = await readTraffic(session, objects)
      const view = objects.map((object, i) => ({
        ...object,
        status: toStatus(object),
        ...traffic[i],
      }))
      await print(format, view, toText(objects, traffic))
      if (objects.length === 0 && format === 'text' && process.stdout.isTTY)
        process.stderr.write("mx: no services running; start one with 'mx run <folder>'\n")
    } finally {
      session.close()
    }
  },
})

export default command

async function readTraffic(
  session: Session,
  objects: readonly RuntimeObject[],
): Promise<readonly Traffic[]> {
  const names = [...new Set(objects.map(({ name }) => name))]
  if (names.length === 0) return []
  const [rates, urls] = await Promise.all([
    readRates(session),
    Promise.all(names.slice(0, MAX_URLS).map((name) => findUrl(session, name))),
  ])
  return objects.map(({ name }) => {
    const { requests_per_second, error_share, p99_ms } = rates.get(name) ?? {}
    const url = urls[names.indexOf(name)]?.url
    return { url, requests_per_second, error_share, p99_ms }
  })
}

/** Prints nothing without services, because scripts count lines. */
function toText(objects: readonly RuntimeObject[], traffic: readonly Traffic[]): string {
  if (objects.length === 0) return ''
  return formatTable([HEADINGS, ...objects.map((object, i) => toRow(object, traffic[i]!))], 0)
}

function toRow(object: RuntimeObject, traffic: Traffic): readonly string[] {
  const { name, version, source, metadata } = object
  const { started = '', build = '' } = metadata
  const keys = METADATA_KEYS.filter(
    (key) => metadata[key] && !(key === 'lastFailure' && metadata['error']),
  ).map((key) => `${key}=${metadata[key]!.split('\n')[0]}`)
  return [
    name,
    version,
    // Without spaces, because scripts split columns at spaces.
    (metadata['source'] || source || NONE).replaceAll(/\s/g, '_'),
    toStatus(object),
    build.slice(0, BUILD_LENGTH) || NONE,
    formatAgo(Date.parse(started), Date.now()),
    order([...keys, ...formatTraffic(traffic)]).join(', ') || NONE,
  ]
}

/**
 * Orders metadata. A terminal truncates the column, so problems come first. In a pipe, the owner comes first (reference
 * 7.6).
 */
function order(entries: readonly string[]): readonly string[] {
  if (!process.stdout.isTTY) return entries
  const toRank = (entry: string): number => {
    const rank = ON_TERMINAL.indexOf(entry.split('=')[0]!)
    return rank < 0 ? ON_TERMINAL.length : rank
  }
  return entries.toSorted((a, b) => toRank(a) - toRank(b))
}

function formatTraffic({ url, requests_per_second = 0, error_share, p99_ms }: Traffic): string[] {
  return [
    ...(url === undefined ? [] : [`url=${url}`]),
    ...(requests_per_second === 0 ? [] : [`requests=${requests_per_second.toFixed(1)}/s`]),
    ...(error_share === undefined ? [] : [`errors=${formatShare(error_share)}`]),
    ...(p99_ms === undefined ? [] : [`p99=${formatLatency(p99_ms)}`]),
  ]
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}
