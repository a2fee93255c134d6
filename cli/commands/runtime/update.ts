import { isAbsolute } from 'node:path'
import { type Command, defineCommand } from '../../command.ts'
import { deploy } from '../../runtime/deploy.ts'
import { findObject, parseObject, type RuntimeObject } from '../../runtime/objects.ts'
import { RUN_FLAGS } from '../../runtime/run-flags.ts'
import { findLocal, LATEST, parseSource, splitReference } from '../../runtime/source.ts'
import { openSession, type Session, sessionFlags } from '../../session/session.ts'
import { readBaseUrl } from '../../state/base-url.ts'
import { findUpload } from '../../state/uploads.ts'
import { OUTPUT_FLAGS } from '../../ui/format.ts'
import { CliError, usageError } from '../../ui/output.ts'

/** Matches an object name. Any other text is a path or an address. */
const NAME = /^(?!\.{1,2}(?:@|$))[^/\\:]+$/

const command: Command = defineCommand({
  name: 'update',
  description: 'Deploy the latest code of a service without downtime',
  usage: '<name or source>[@<branch or commit>]',
  flags: {
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the service'),
    ...RUN_FLAGS,
    '--rollback': 'Restore the previous build',
  },
  examples: ['mx update ./helloworld', 'mx update helloworld --rollback'],
  async run(words, flags) {
    const { rollback = false } = flags
    const [typed = ''] = words
    if (words.length !== 1 || typed === '')
      throw usageError(
        'update',
        words.join('') === ''
          ? 'a name or source is missing'
          : `expected one name or source, got ${words.join(', ')}`,
      )
    if (rollback && flags.source !== undefined)
      throw usageError('update', '--rollback and --source cannot be combined')
    const session = openSession(flags)
    try {
      const baseUrl = readBaseUrl(session.environment)
      const isName = NAME.test(typed)
      const { name, version } = isName
        ? parseObject(typed)
        : { name: parseSource(typed, baseUrl).name, version: splitReference(typed).ref ?? '' }
      const object = await findObject(session, flags.name ?? name, version)
      const from = rollback ? '' : (flags.source ?? (isName ? findFolder(session, object) : typed))
      await deploy(session, {
        ...{ endpoint: 'Runtime.Update', name: object.name, version: object.version },
        source: from === '' ? undefined : parseSource(from, baseUrl),
        ...{ typed: from, flags, rollback },
      })
    } finally {
      session.close()
    }
  },
})

export default command

/**
 * Folder from which this user uploaded an object; empty for a repository or an image. If only the platform reports the
 * folder, it is rejected, because it could contain secrets.
 *
 * @throws {CliError} if this machine does not have the folder
 */
function findFolder(session: Session, object: RuntimeObject): string {
  const { name, version, source, metadata } = object
  if (!source.startsWith('source://')) return ''
  const folder = metadata['source'] ?? ''
  const reason = findReason(folder, findUpload({ ...session, name, version }))
  if (reason === undefined) return folder
  const typed = version === LATEST ? name : `${name}@${version}`
  throw new CliError(
    `Cannot update ${typed}: ${reason}. Pass the folder: 'mx update ${typed} --source=<folder>'`,
  )
}

/**
 * Reason why the folder reported by the platform cannot be uploaded; undefined if it can.
 *
 * @param uploaded folder that this user uploaded
 */
function findReason(folder: string, uploaded: string | undefined): string | undefined {
  if (!isAbsolute(folder)) return 'its source folder is unknown'
  if (findLocal(splitReference(folder).stem, LATEST) === undefined)
    return `its source folder ${folder} does not exist on this machine`
  if (folder !== uploaded) return `you did not upload its source folder ${folder} from this machine`
  return undefined
}
