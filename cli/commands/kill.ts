import { type Command, defineCommand } from '../command.ts'
import { findObject, parseObject } from '../runtime/objects.ts'
import { openSession, sessionFlags } from '../session/session.ts'
import { OUTPUT_FLAGS, printDone, toFormat } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { openSteps } from '../ui/progress.ts'

const command: Command = defineCommand({
  name: 'kill',
  description: 'End what runs',
  usage: '<name>[@<branch or commit>]',
  flags: {
    '--force': 'Also where the server that runs it is gone for good: it is forgotten',
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace it runs in'),
  },
  examples: ['mx kill helloworld'],
  async run(words, flags) {
    if (words.length !== 1)
      throw new CliError(
        `${words.length === 0 ? 'the name is missing' : `one name at a time, got ${words.join(', ')}`}. See 'mx kill --help'`,
        { status: EXIT.usage },
      )
    const format = toFormat(flags)
    const session = openSession(flags)
    const steps = await openSteps()
    try {
      const given = parseObject(words[0]!)
      const { name, version } = await findObject(session, given.name, given.version)
      steps.show('stopping')
      const request = {
        resource: { service: { name, version } },
        options: { namespace: session.namespace, ...(flags.force && { force: true }) },
      }
      // Calls under way may take as long as they are given.
      await session.call('runtime', 'Runtime.Delete', request, {
        timeoutMs: Number.POSITIVE_INFINITY,
      })
      steps.end()
      await printDone(format, { name, version }, `${name} was killed`)
    } finally {
      steps.end()
      session.close()
    }
  },
})

export default command
