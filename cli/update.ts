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
const NAME = /^[^/\\:]+$/

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
    const from = rollback ? '' : (flags.source ?? (isName ? findFolder(typed, object) : typed))
    if (from === '' && !rollback) tellOfUpload(object)
    await deploy(session, {
      ...{ endpoint: 'Runtime.Update', name: object.name, version: object.version },
      source: from === '' ? undefined : parseSource(from, baseUrl),
      ...{ typed: from, flags, rollback },
    })
  } finally {
    session.close()
  }
}

/** The folder called as an object is, where it was uploaded before; empty: from where it came. */
function findFolder(typed: string, { source }: RuntimeObject): string {
  const isFolder = findLocal(splitReference(typed).stem, LATEST) !== undefined
  return isFolder && source.startsWith('source://') ? typed : ''
}

/** What has changed in the folder it was uploaded from is not in it. */
function tellOfUpload({ name, version, source, metadata }: RuntimeObject): void {
  if (!source.startsWith('source://')) return
  const folder = metadata['source'] ?? '<folder>'
  const object = version === LATEST ? name : `${name}@${version}`
  process.stderr.write(
    `mx: ${object} runs anew as it was uploaded; 'mx update ${object} --source=${folder}' uploads it again\n`,
  )
}

function usage(what: string): CliError {
  return new CliError(`${what}. See 'mx update --help'`, { status: EXIT.usage })
}
