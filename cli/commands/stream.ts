import { readJsonLines, readText, toWrittenList } from '../args/input.ts'
import { CALL_FLAGS, orSuggest, TARGET_USAGE, toCall, toSessionCall } from '../call/target.ts'
import { type Command, defineCommand } from '../command.ts'
import { sessionFlags, withSession } from '../session/session.ts'
import { printReplies, toReplyFormat } from '../ui/replies.ts'

const STANDARD_INPUT = '-'

const command: Command = defineCommand({
  name: 'stream',
  description: 'Call an endpoint, and print the stream it answers with',
  usage: TARGET_USAGE,
  flags: {
    ...CALL_FLAGS,
    '--request_timeout <duration>': 'How long it may take (default: no end)',
    ...sessionFlags('Namespace of the call'),
  },
  examples: ['mx stream registry Registry.Watch -o yaml'],
  async run(words, flags) {
    const target = toCall('stream', words)
    const { service, endpoint, request } = target
    const format = toReplyFormat(flags.output)
    const options = toSessionCall(flags)
    // Each line of standard input is a request.
    const requests =
      request === STANDARD_INPUT
        ? readJsonLines('a line of standard input')
        : toWrittenList(await readText(request, 'the request'), 'the request')
    await withSession(flags, (session) => {
      const replies = session.stream<string>(service, endpoint, requests, options)
      return orSuggest(session, target, printReplies(format, replies))
    })
  },
})

export default command
