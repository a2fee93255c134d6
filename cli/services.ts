import type { CAC } from 'cac'
import { readCommandLine } from './args/args.ts'
import { listServices } from './session/find-services.ts'
import { SESSION_FLAGS, withSession } from './session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from './ui/format.ts'
import { CliError, EXIT } from './ui/output.ts'

const FLAGS = { ...SESSION_FLAGS, ...OUTPUT_FLAGS } as const

/** Lists the services of the namespace by name (reference 6); all there is of them as JSON or YAML. @throws {CliError} */
export async function runServices(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
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
}
