import { type Command, defineCommand } from '../../command.ts'
import { findObject, parseObject } from '../../runtime/objects.ts'
import { openSession, sessionFlags } from '../../session/session.ts'
import { OUTPUT_FLAGS, printDone, toFormat } from '../../ui/format.ts'
import { CliError, EXIT } from '../../ui/output.ts'
import { openSteps } from '../../ui/progress.ts'

const command: Command = defineCommand({
  name: 'kill',
  description: 'Stop and delete a service',
  usage: '<name>[@<branch or commit>]',
  flags: {
    '--force': 'Delete the service even if its server is unreachable',
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the service'),
  },
  examples: ['mx kill helloworld', 'mx kill helloworld@feature --env staging'],
  async run(words, flags) {
    if (words.length !== 1)
      throw new CliError(
        `${words.length === 0 ? 'a name is missing' : `expected one name, got ${words.join(', ')}`}. See 'mx kill --help'`,
        { status: EXIT.usage },
      )
    const format = toFormat(flags)
    const session = openSession(flags)
    const steps = await openSteps()
    try {
      const target = parseObject(words[0]!)
      const { name, version } = await findObject(session, target.name, target.version)
      steps.show('stopping')
      const request = {
        resource: { service: { name, version } },
        options: { namespace: session.namespace, ...(flags.force && { force: true }) },
      }
      // The call waits for the service's calls in flight.
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
