import { take } from '../../../lib/async/take.ts'
import { parseCount } from '../../args/count.ts'
import { readBytes } from '../../args/input.ts'
import { type Command, defineCommand } from '../../command.ts'
import { toPairs } from '../../runtime/run-flags.ts'
import { sessionFlags, withSession } from '../../session/session.ts'
import { toField } from '../../ui/bytes.ts'
import { formatEach, OUTPUT_FLAGS, printDone, toFormat } from '../../ui/format.ts'
import { printStream } from '../../ui/print-stream.ts'

/** A message of the `broker` service (specification: Broker message). */
interface Message {
  readonly header: Readonly<Record<string, string>>
  /** Base64. */
  readonly body: string
}

const LINE_FEED = Buffer.from('\n')

const command: Command = defineCommand({
  name: 'broker',
  description: 'Publish and subscribe to messages',
  sharesServiceName: true,
  flags: {
    '--header <name=value>...': 'publish: header of the message',
    '--queue <name>': 'subscribe: queue group; each message goes to one subscriber of the group',
    '-l, --limit <n>': 'subscribe: exit after n messages (default: run until Ctrl-C)',
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the topic'),
  },
  examples: [
    'mx broker subscribe orders -o json',
    `mx broker publish orders '{"id":5}'`,
    'mx broker publish images @logo.png --header content-type=image/png',
  ],
  subcommands: {
    'publish <topic> <message>': ([topic, message], flags) =>
      withSession(flags, async ({ call }) => {
        const format = toFormat(flags)
        const body = await readBytes(message)
        const header = { 'content-type': toContentType(body), ...toHeader(flags.header ?? []) }
        const request = { topic, message: { header, body: body.toString('base64') } }
        await call('broker', 'Broker.Publish', request)
        await printDone(format, { topic, bytes: body.length }, `published to ${topic}`)
      }),
    'subscribe <topic>': ([topic], flags) =>
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
})

export default command

function toHeader(texts: readonly string[]): Readonly<Record<string, string>> {
  const pairs = Object.entries(toPairs('header', texts))
  return Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]))
}

/** Default content type of a message. */
function toContentType(body: Buffer): string {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return 'application/json'
  } catch (error) {
    return error instanceof SyntaxError ? 'text/plain; charset=utf-8' : 'application/octet-stream'
  }
}
