import { parseRawJson, readText } from '../../args/input.ts'
import { CALL_FLAGS, orSuggest, TARGET_USAGE, toCall, toSessionCall } from '../../call/target.ts'
import { type Command, defineCommand } from '../../command.ts'
import { sessionFlags, withSession } from '../../session/session.ts'
import { printReply, toReplyFormat } from '../../ui/replies.ts'

const command: Command = defineCommand({
  name: 'call',
  description: 'Call an endpoint of a service',
  usage: TARGET_USAGE,
  flags: {
    ...CALL_FLAGS,
    '--request_timeout <duration>': 'Timeout of the call (default: 10s)',
    ...sessionFlags('Namespace of the call'),
  },
  examples: [
    `mx call helloworld Helloworld.Call '{"name":"John"}'`,
    'mx call helloworld Helloworld.Call @request.json -o raw',
  ],
  async run(words, flags) {
    const target = toCall('call', words)
    const { service, endpoint } = target
    const format = toReplyFormat(flags.output)
    const options = toSessionCall(flags)
    const body = parseRawJson(await readText(target.request, 'the request'), 'the request')
    await withSession(flags, async (session) => {
      const response = session.call<string>(service, endpoint, body, options)
      await printReply(format, await orSuggest(session, target, response))
    })
  },
})

export default command
