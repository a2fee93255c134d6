import { parseRawJsonList, readJsonLines, readText } from '../../args/input.ts'
import { CALL_FLAGS, orSuggest, TARGET_USAGE, toCall, toSessionCall } from '../../call/target.ts'
import { type Command, defineCommand } from '../../command.ts'
import { sessionFlags, withSession } from '../../session/session.ts'
import { printReplies, toReplyFormat } from '../../ui/replies.ts'

const STANDARD_INPUT = '-'

const command: Command = defineCommand({
  name: 'stream',
  description: 'Call a streaming endpoint and print its responses',
  usage: TARGET_USAGE,
  flags: {
    ...CALL_FLAGS,
    '--request_timeout <duration>': 'Timeout of the stream (default: none)',
    ...sessionFlags('Namespace of the call'),
  },
  examples: [
    'mx stream registry Registry.Watch -o yaml',
    'mx stream helloworld Helloworld.Chat - < requests.jsonl',
  ],
  async run(words, flags) {
    const target = toCall('stream', words)
    const { service, endpoint, request } = target
    const format = toReplyFormat(flags.output)
    const options = toSessionCall(flags)
    const requests =
      request === STANDARD_INPUT
        ? readJsonLines('a line of standard input')
        : parseRawJsonList(await readText(request, 'the request'), 'the request')
    await withSession(flags, (session) => {
      const responses = session.stream<string>(service, endpoint, requests, options)
      return orSuggest(session, target, printReplies(format, responses))
    })
  },
})

export default command
