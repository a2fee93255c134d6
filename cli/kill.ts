import type { CAC } from 'cac'
import { readCommandLine } from './args/args.ts'
import { findObject, parseObject } from './runtime/objects.ts'
import { openSession, SESSION_FLAGS } from './session/session.ts'
import { OUTPUT_FLAGS, printDone, toFormat } from './ui/format.ts'
import { CliError, EXIT } from './ui/output.ts'
import { openSteps } from './ui/progress.ts'

const FLAGS = { ...SESSION_FLAGS, ...OUTPUT_FLAGS, force: 'boolean' } as const

/** Ends what runs under a name, and forgets it (specification: States and transitions). @throws {CliError} */
export async function runKill(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
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
}
