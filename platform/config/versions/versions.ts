import { createHash } from 'node:crypto'
import { badRequest, conflict, notFound, preconditionFailed } from '../../../sdk/errors.ts'
import type {
  AppliedConfig,
  ApplyOptions,
  ConfigVersions,
} from '../../../services/gateway/config-versions.ts'
import type { Log } from '../../process/log.ts'
import { SettingsError } from '../../settings/sources.ts'
import { keepFixed, type LoadConfiguration } from '../load.ts'
import type { Configuration } from '../types.ts'
import { diffConfigurations, summarizeChanges } from './diff.ts'
import { type DraftFile, writeDraft } from './draft-file.ts'
import type { StoredConfigVersion, VersionStorage } from './storage.ts'

export interface ConfigVersionsOptions {
  /** Configuration at startup. */
  readonly initial: Configuration
  readonly load: LoadConfiguration
  /**
   * Applies a configuration to new requests; `save` writes the file if there is one.
   *
   * @throws {SettingsError} if it is rejected. The previous configuration then remains in use.
   */
  readonly install: (next: Configuration, save: () => Promise<void>) => Promise<void>
  /** Performs checks beyond loading, such as the options of plugins. @throws {SettingsError} */
  readonly check: (next: Configuration) => Promise<void>
  /** Called in the same tick in which the configuration file was written. */
  readonly onSaved: (file: string, text: string) => void
  /** Reason why a configuration without a file cannot be replaced; undefined if it can. */
  readonly noFileReason: string | undefined
  readonly storage: VersionStorage
  readonly log: Log
}

/** {@link ConfigVersions} whose configuration file is reloaded by its process. */
export interface ReloadableVersions extends ConfigVersions {
  /**
   * Loads the configuration file and applies it. A changed text becomes a new version.
   *
   * @throws {SettingsError} if the configuration is invalid. Nothing is changed in this case.
   */
  readonly reload: () => Promise<void>
}

const ID = 'api'
const VERSIONS_MAX = 50
const BY_FILE = 'file'

/**
 * Opens the versions of a running gateway. Versions that cannot be read are logged and replaced.
 */
export async function openConfigVersions(
  options: ConfigVersionsOptions,
): Promise<ReloadableVersions> {
  const { initial, load, install, check, onSaved, noFileReason, storage, log } = options
  let loaded = initial
  let versions = await readVersions(storage, log)
  let last = Promise.resolve()

  /** Runs changes sequentially. */
  function runExclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work)
    last = result.then(
      () => {},
      () => {},
    )
    return result
  }

  function add(text: string, author: string, summary: string): StoredConfigVersion {
    const version = {
      number: (versions.at(-1)?.number ?? 0) + 1,
      ...{ time: Date.now(), author, etag: toEtag(text), summary, text },
    }
    versions = [...versions, version].slice(-VERSIONS_MAX)
    return version
  }

  async function record(
    next: Configuration,
    author: string,
    note = '',
  ): Promise<StoredConfigVersion> {
    const summary = `${note}${summarizeChanges(diffConfigurations(loaded, next))}`
    loaded = next
    const version = add(next.config.text, author, summary)
    await storage
      .write(versions)
      .catch((error) => log.warn({ err: error }, 'configuration versions were not stored'))
    return version
  }

  const current = (): StoredConfigVersion => versions.at(-1)!

  function compare(next: Configuration) {
    return {
      etag: current().etag,
      changes: diffConfigurations(loaded, next),
      restart: keepFixed(initial, next).restart,
    }
  }

  async function save(draft: DraftFile | undefined, { file, config }: Configuration) {
    if (draft === undefined || file === undefined) return
    await draft.commit()
    onSaved(file, config.text)
  }

  async function replace(
    text: string,
    { ifMatch, author }: ApplyOptions,
    note = '',
  ): Promise<AppliedConfig> {
    const { etag, number } = current()
    if (ifMatch !== '*' && ifMatch !== etag)
      throw preconditionFailed(
        ID,
        `version ${number} (${etag}) of ${current().author} is in use, expected ${ifMatch}: another version was applied in the meantime; compare again`,
      )
    const next = await rejectInvalid(() => load(text))
    const { file = '' } = next
    if (file === '' && noFileReason !== undefined) throw conflict(ID, noFileReason)
    const compared = compare(next)
    if (toEtag(text) === etag) return { ...compared, version: toPublic(current()), file }
    await rejectInvalid(() => check(next))
    const draft = file === '' ? undefined : await rejectUnwritable(file, writeDraft(file, text))
    let isSaved = true
    try {
      await rejectInvalid(() =>
        install(next, async () => {
          isSaved = false
          await rejectUnwritable(file, save(draft, next))
          isSaved = true
        }),
      )
    } catch (error) {
      await draft?.discard()
      if (!isSaved) await install(loaded, async () => {})
      throw error
    }
    const version = toPublic(await record(next, author, note))
    log.info(
      { account: author, version: version.number, etag: version.etag, changes: version.summary },
      note === '' ? 'configuration applied' : 'configuration rolled back',
    )
    return { ...compared, version, file }
  }

  if (versions.at(-1)?.etag !== toEtag(initial.config.text))
    add(initial.config.text, BY_FILE, versions.length === 0 ? 'start' : 'changed before this start')

  return {
    current: () => toPublic(current()),
    list: () => versions.map(toPublic),

    async diff(text) {
      rejectEmpty(text)
      // All loads share the process's resolved references.
      return runExclusively(async () => {
        const next = await rejectInvalid(() => load(text))
        await rejectInvalid(() => check(next))
        return compare(next)
      })
    },

    async apply(text, request) {
      rejectEmpty(text)
      return runExclusively(() => replace(text, request))
    },

    rollback: (number, request) =>
      runExclusively(async () => {
        const target = number === 0 ? current().number - 1 : number
        const version = versions.find((each) => each.number === target)
        if (version === undefined)
          throw notFound(
            ID,
            `version ${target} is not stored; stored versions: ${versions[0]!.number} to ${current().number}`,
          )
        return replace(version.text, request, `rollback to ${target}: `)
      }),

    reload: () =>
      runExclusively(async () => {
        const fromFile = await load()
        // Without a file, the applied text is the configuration.
        const isApplied = fromFile.file === undefined && loaded.config.text !== ''
        const next = isApplied ? await load(loaded.config.text) : fromFile
        await install(next, async () => {})
        if (toEtag(next.config.text) === current().etag) loaded = next
        else await record(next, BY_FILE)
      }),
  }
}

async function readVersions(
  storage: VersionStorage,
  log: Log,
): Promise<readonly StoredConfigVersion[]> {
  try {
    return await storage.read()
  } catch (error) {
    log.warn({ err: error }, 'stored configuration versions are unreadable; starting a new history')
    return []
  }
}

/** Returns the ETag, including quotes as in HTTP (RFC 9110 section 8.8.3). */
function toEtag(text: string): string {
  return `"${createHash('sha256').update(text).digest('hex').slice(0, 16)}"`
}

function toPublic({ text: _text, ...version }: StoredConfigVersion) {
  return version
}

/**
 * Rejects an empty text, which would mean that there is no configuration file.
 *
 * @throws {GatewayError} 400
 */
function rejectEmpty(text: string): void {
  if (text.trim() === '') throw badRequest(ID, 'the configuration is empty; add a setting')
}

/** @throws {GatewayError} 400 with all problems, one per line. */
async function rejectInvalid<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    throw badRequest(ID, error.problems.join('\n'), { cause: error })
  }
}

/** @throws {GatewayError} 409 */
async function rejectUnwritable<T>(file: string, writing: Promise<T>): Promise<T> {
  try {
    return await writing
  } catch (error) {
    throw conflict(
      ID,
      `cannot write ${file}: ${(error as Error).message}; change the file at its source; the gateway reloads it`,
      { cause: error },
    )
  }
}
