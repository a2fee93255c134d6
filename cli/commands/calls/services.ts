import { type Command, defineCommand } from '../../command.ts'
import { listServices } from '../../session/find-services.ts'
import { sessionFlags, withSession } from '../../session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { CliError, EXIT } from '../../ui/output.ts'

const command: Command = defineCommand({
  name: 'services',
  description: 'List registered services',
  // Empty usage, because the command rejects arguments with its own message.
  usage: '',
  flags: {
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the services'),
  },
  examples: ['mx services', 'mx services -o json'],
  async run(words, flags) {
    if (words.length > 0)
      throw new CliError(
        `Too many arguments, expected no arguments; 'mx registry get ${words[0]}' shows one service`,
        { status: EXIT.usage },
      )
    const format = toFormat(flags)
    await withSession(flags, async (session) => {
      const services = await listServices(session)
      const names = new Set(services.map(({ name }) => name))
      await print(
        format,
        services,
        [...names]
          .sort()
          .map((name) => `${name}\n`)
          .join(''),
      )
    })
  },
})

export default command
