import type { CAC } from 'cac'
import { take } from '../lib/async/take.ts'
import { type CommandLine, readCommandLine } from './args/args.ts'
import { parseCount } from './args/count.ts'
import { readBytes } from './args/input.ts'
import { runSubcommand, type Subcommand } from './args/subcommands.ts'
import { toPairs } from './runtime/run-flags.ts'
import { SESSION_FLAGS, withSession } from './session/session.ts'
import { toField } from './ui/bytes.ts'
import { formatEach, OUTPUT_FLAGS, printDone, toFormat } from './ui/format.ts'
import { printStream } from './ui/print-stream.ts'

const FLAGS = {
  ...SESSION_FLAGS,
  ...OUTPUT_FLAGS,
  header: 'strings',
  queue: 'string',
  limit: 'string',
} as const
type BrokerFlags = CommandLine<typeof FLAGS>['flags']

/** A message, as the service `broker` tells it (specification: Broker message). */
interface Message {
  readonly header: Readonly<Record<string, string>>
  /** Base64. */
  readonly body: string
}

const LINE_FEED = Buffer.from('\n')

/** `mx broker` and what may follow it (reference 5.1). */
const SUBCOMMANDS: readonly Subcommand<BrokerFlags>[] = [
  {
    words: 'publish',
    args: ['TOPIC', 'MESSAGE'],
    run: ([topic, given], flags) =>
      withSession(flags, async ({ call }) => {
        const format = toFormat(flags)
        const body = await readBytes(given!)
        const header = { 'content-type': toContentType(body), ...toHeader(flags.header ?? []) }
        const message = { header, body: body.toString('base64') }
        await call('broker', 'Broker.Publish', { topic, message })
        await printDone(format, { topic, bytes: body.length }, `published to ${topic}`)
      }),
  },
  {
    words: 'subscribe',
    args: ['TOPIC'],
    run: ([topic], flags) =>
      withSession(flags, async ({ stream }) => {
        const format = toFormat(flags)
        const limit = parseCount(flags.limit, 'limit')
        const request = { topic, queue: flags.queue ?? '' }
        const messages = stream<Message>('broker', 'Broker.Subscribe', request, {
          resume: () => request,
        })
        await printStream(take(messages, limit), ({ header, body }) => {
          const bytes = Buffer.from(body, 'base64')
          if (format === 'text') return Buffer.concat([bytes, LINE_FEED])
          return formatEach(format, { header, ...toField('body', bytes) })
        })
      }),
  },
]

/** @throws {CliError} */
export async function runBroker(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  await runSubcommand('broker', SUBCOMMANDS, words, flags)
}

function toHeader(texts: readonly string[]): Readonly<Record<string, string>> {
  const pairs = Object.entries(toPairs('header', texts))
  return Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]))
}

/** What subscribers are told it is, where nobody says. */
function toContentType(body: Buffer): string {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return 'application/json'
  } catch (error) {
    return error instanceof SyntaxError ? 'text/plain; charset=utf-8' : 'application/octet-stream'
  }
}
