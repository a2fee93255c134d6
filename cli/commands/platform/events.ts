import { collect } from '../../../lib/async/collect.ts'
import type { FlagsOf } from '../../args/args.ts'
import { parseCount } from '../../args/count.ts'
import { readBytes } from '../../args/input.ts'
import { parseSince } from '../../args/since.ts'
import { type Command, defineCommand } from '../../command.ts'
import { consume } from '../../events/consume.ts'
import { type EventMessage, toDocument, toPayload } from '../../events/message.ts'
import { toPairs } from '../../runtime/run-flags.ts'
import { type Session, sessionFlags, withSession } from '../../session/session.ts'
import { toCell } from '../../ui/bytes.ts'
import { formatEach, OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { CliError, printProblems, usageError } from '../../ui/output.ts'
import { printStream } from '../../ui/print-stream.ts'
import { formatTable } from '../../ui/table.ts'

const FLAGS = {
  '--metadata <name=value>...': 'publish: metadata of the event',
  '--timestamp <time>': 'publish: time of the event (default: now)',
  '--group <name>': 'consume: consumer group; each event goes to one consumer of the group',
  '--offset <n>':
    'consume: start sequence of a new group (default: new events only); read: number of events to skip',
  '--since <duration or time>':
    'consume, read: start time, such as 10m (ago) or 2026-01-31T12:00:00Z; for consume, instead of --offset',
  '-l, --limit <n>':
    'consume: exit after n events (default: run until Ctrl-C); read: maximum number, 0 for all (default: 250)',
  '-v, --verbose': 'read: show sequence, time, id and metadata; topics: show groups',
  ...OUTPUT_FLAGS,
  ...sessionFlags('Namespace of the topic'),
}
type EventsFlags = FlagsOf<typeof FLAGS>

interface Published {
  readonly id: string
  readonly sequence: number
}

interface Topic {
  readonly topic: string
  /** Sequences of the oldest retained event and the newest event ever published. */
  readonly first: number
  readonly last: number
  readonly bytes: number
  readonly groups?: readonly {
    readonly group: string
    readonly lag: number
  }[]
}

interface EventPage {
  readonly events: readonly EventMessage[]
  /** Offset of the next page; absent on the last page. */
  readonly next?: number
}

/** Event record (reference 5.2). */
const DEFAULT_LIMIT = '250'
const NONE = 'n/a'

const command: Command = defineCommand({
  name: 'events',
  description: 'Publish, consume, read and list events',
  sharesServiceName: true,
  flags: FLAGS,
  examples: [
    `mx events publish orders '{"id":5}' --metadata source=shop`,
    'mx events consume orders --group billing --offset 1 -o json',
    'mx events read orders --since 1h -v',
    'mx events topics -v',
  ],
  subcommands: {
    'publish <topic> <payload>': ([topic, payload], flags) =>
      withSession(flags, async ({ call }) => {
        const format = toFormat(flags)
        const request = {
          topic,
          metadata: toPairs('metadata', flags.metadata ?? []),
          timestamp_ms: toTimeMs(flags.timestamp, '--timestamp'),
          payload: (await readBytes(payload)).toString('base64'),
        }
        const published = await call<Published>('events', 'Stream.Publish', request)
        await print(format, published, `${published.id}\n`)
      }),
    'consume <topic>': ([topic], flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        if (flags.offset !== undefined && flags.since !== undefined)
          throw usageError('events', '--offset and --since cannot be combined')
        const request = {
          topic: topic,
          group: flags.group ?? '',
          sequence: parseCount(flags.offset, 'offset'),
          offset_ms: toTimeMs(flags.since, '--since'),
        }
        await warnExistingGroup(session, request, flags)
        const { events, finish } = consume(session, request, parseCount(flags.limit, 'limit'))
        const toText = (event: EventMessage) =>
          format === 'text' ? toLine(event) : formatEach(format, toDocument(event))
        await printStream(events, toText, finish)
      }),
    'read <topic>': ([topic], flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        const events = read(session, topic, flags)
        if (format === 'text' && !flags.verbose) return printStream(events, toLine)
        const all = await collect(events)
        await print(format, all.map(toDocument), formatEvents(all))
      }),
    'topics [topic]': ([topic = ''], flags) =>
      withSession(flags, async ({ call }) => {
        const format = toFormat(flags)
        const { verbose: groups = false } = flags
        const request = { topic, groups }
        const { topics } = await call<{ topics: Topic[] }>('events', 'Stream.Topics', request)
        if (topic !== '' && topics.length === 0) throw new CliError(`not found: ${topic}`)
        await print(format, topics, formatTopics(topics, groups))
      }),
  },
})

export default command

/**
 * Warns that a flag does not apply to an existing group. Ignores errors, because the subsequent consume call reports
 * them.
 */
async function warnExistingGroup(
  { call }: Session,
  { topic, group }: { readonly topic: string; readonly group: string },
  { offset, since }: EventsFlags,
): Promise<void> {
  if (group === '' || (offset ?? since) === undefined) return
  const page = call<{ topics: Topic[] }>('events', 'Stream.Topics', { topic, groups: true })
  const { topics } = await page.catch(() => ({ topics: [] }))
  const groups = topics.flatMap(({ groups = [] }) => groups)
  if (!groups.some((existing) => existing.group === group)) return
  const flag = offset === undefined ? '--since' : '--offset'
  printProblems([`${flag} ignored: the group ${group} exists and continues at its position`])
}

async function* read(
  { call }: Session,
  topic: string,
  flags: EventsFlags,
): AsyncGenerator<EventMessage, void, undefined> {
  const maxEvents = parseCount(flags.limit ?? DEFAULT_LIMIT, 'limit')
  const since_ms = toTimeMs(flags.since, '--since')
  let offset: number | undefined = parseCount(flags.offset, 'offset')
  for (let remaining = maxEvents; offset !== undefined && (maxEvents === 0 || remaining > 0); ) {
    const request = { topic, limit: remaining, offset, since_ms }
    const page: EventPage = await call('events', 'Store.Read', request)
    yield* page.events
    offset = page.next
    if (maxEvents > 0) remaining -= page.events.length
  }
}

/** Unix time in milliseconds; 0 if the flag is missing. */
function toTimeMs(text: string | undefined, flag: string): number {
  return text === undefined ? 0 : parseSince(text, flag)
}

function toLine(event: EventMessage): Buffer {
  return Buffer.concat([toPayload(event), Buffer.from('\n')])
}

function formatEvents(events: readonly EventMessage[]): string {
  const rows = events.map((event) => {
    const { sequence, timestamp_ms, id, metadata } = event
    const pairs = Object.entries(metadata).map(([name, value]) => `${name}=${value}`)
    return [
      String(sequence),
      new Date(timestamp_ms).toISOString(),
      id,
      toCell(Buffer.from(pairs.join(', '))) || NONE,
      toCell(toPayload(event)),
    ]
  })
  return formatTable([['SEQUENCE', 'TIME', 'ID', 'METADATA', 'PAYLOAD'], ...rows], 0)
}

function formatTopics(topics: readonly Topic[], withGroups: boolean): string {
  if (topics.length === 0) return ''
  const rows = topics.map(({ topic, first, last, bytes, groups = [] }) => [
    topic,
    // Without retained events, the oldest sequence is greater than the newest.
    String(Math.max(0, last - first + 1)),
    String(first),
    String(last),
    String(bytes),
    ...(withGroups
      ? [groups.map(({ group, lag }) => `${group} (${lag} behind)`).join(', ') || NONE]
      : []),
  ])
  const headings = ['TOPIC', 'EVENTS', 'FIRST', 'LAST', 'BYTES', ...(withGroups ? ['GROUPS'] : [])]
  return formatTable([headings, ...rows], 0)
}
