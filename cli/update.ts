import { isAbsolute } from 'node:path'
import type { CAC } from 'cac'
import { readCommandLine } from './command-line.ts'
import { CliError, EXIT } from './output.ts'
import { deploy } from './runtime/deploy.ts'
import { findObject, parseObject, type RuntimeObject } from './runtime/objects.ts'
import { RUN_FLAGS } from './runtime/run-flags.ts'
import { findLocal, LATEST, parseSource, splitReference } from './runtime/source.ts'
import { openSession } from './session.ts'
import { readBaseUrl } from './state/base-url.ts'

const FLAGS = { ...RUN_FLAGS, rollback: 'boolean' } as const
/** What may be the name of an object; the rest are paths and addresses. */
const NAME = /^(?!\.{1,2}(?:@|$))[^/\\:]+$/

/** Takes what runs to its newest code, and waits until that runs (specification: States and transitions). @throws {CliError} */
export async function runUpdate(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  const { rollback = false } = flags
  const [typed = ''] = words
  if (words.length !== 1)
    throw usage(
      words.length === 0
        ? 'what is to be updated is missing'
        : `one at a time, got ${words.join(', ')}`,
    )
  if (rollback && flags.source !== undefined)
    throw usage('--rollback takes the build before, --source another source: give one')
  const session = openSession(flags)
  try {
    const baseUrl = readBaseUrl(session.environment)
    const isName = NAME.test(typed)
    const { name, version } = isName
      ? parseObject(typed)
      : { name: parseSource(typed, baseUrl).name, version: splitReference(typed).ref ?? '' }
    const object = await findObject(session, flags.name ?? name, version)
    const from = rollback ? '' : (flags.source ?? (isName ? findFolder(object) : typed))
    await deploy(session, {
      ...{ endpoint: 'Runtime.Update', name: object.name, version: object.version },
      source: from === '' ? undefined : parseSource(from, baseUrl),
      ...{ typed: from, flags, rollback },
    })
  } finally {
    session.close()
  }
}

/**
 * The folder an object was uploaded from, as `mx run` stored it; empty for a repository or an image.
 *
 * @throws {CliError} if this machine does not have it: the code the platform has is not the newest.
 */
function findFolder({ name, version, source, metadata }: RuntimeObject): string {
  if (!source.startsWith('source://')) return ''
  const folder = metadata['source'] ?? ''
  const object = version === LATEST ? name : `${name}@${version}`
  if (isAbsolute(folder) && findLocal(splitReference(folder).stem, LATEST) !== undefined)
    return folder
  const reason = isAbsolute(folder)
    ? `its source folder ${folder} does not exist on this machine`
    : 'the platform does not know the folder it was uploaded from'
  throw new CliError(
    `Cannot update ${object}: ${reason}. Pass the folder: 'mx update ${object} --source=<folder>'`,
  )
}

function usage(what: string): CliError {
  return new CliError(`${what}. See 'mx update --help'`, { status: EXIT.usage })
}
