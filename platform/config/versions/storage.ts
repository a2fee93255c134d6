import type { StoreTable } from '../../../core/contracts/store.ts'
import { decodeRecord, encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import type { SecretKey } from '../../../services/config/secrets/secret-key.ts'
import type { ConfigVersion } from '../../../services/gateway/config-versions.ts'
import { readPrivateFile, writePrivateFile } from '../../server/files/private-file.ts'

/** A version with its text as written, in which references to secrets are unresolved. */
export interface StoredConfigVersion extends ConfigVersion {
  readonly text: string
}

/** Stores the versions of a gateway, oldest first. */
export interface VersionStorage {
  /** @throws {Error} if they cannot be read. */
  readonly read: () => Promise<readonly StoredConfigVersion[]>
  readonly write: (versions: readonly StoredConfigVersion[]) => Promise<void>
}

interface Stored {
  readonly versions: readonly StoredConfigVersion[]
}

const TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'gateway' }
/** Fraction of a record available for texts. JSON escapes and encryption increase their size. */
const TEXT_SHARE = 0.5

/** Versions are lost when the process ends. */
export const MEMORY_STORAGE: VersionStorage = { read: async () => [], write: async () => {} }

/**
 * Stores versions next to the configuration file in `<file>.history`, accessible only to the owner.
 */
export function createFileStorage(file: string): VersionStorage {
  const history = `${file}.history`
  return {
    async read() {
      const text = await readPrivateFile(history)
      return text === undefined ? [] : parse(text, history)
    },
    write: (versions) => writePrivateFile(history, JSON.stringify({ versions })),
  }
}

/**
 * Stores versions in a record of the store, encrypted if there is a key.
 *
 * @param server id of the server that the versions belong to.
 */
export function createStoreStorage(
  store: Pick<Store, 'read' | 'commit' | 'maxValueBytes'>,
  server: string,
  secretKey: Pick<SecretKey, 'seal' | 'open'> | undefined,
): VersionStorage {
  const key = `${server}:versions`
  return {
    async read() {
      const record = await store.read(TABLE, key)
      if (record === undefined) return []
      const { text, sealed } = decodeRecord<{ text?: string; sealed?: string }>(
        record,
        TABLE.table,
        ({ text, sealed }) => typeof (text ?? sealed) === 'string',
      )
      const opened = sealed === undefined ? text : secretKey?.open(DEFAULT_NAMESPACE, key, sealed)
      if (opened === undefined)
        throw new Error('they cannot be decrypted: config_secret_key has changed')
      return parse(opened, key)
    },

    async write(versions) {
      const text = JSON.stringify({ versions: fit(versions, store.maxValueBytes * TEXT_SHARE) })
      const value = encodeRecord(
        secretKey === undefined
          ? { text }
          : { sealed: secretKey.seal(DEFAULT_NAMESPACE, key, text) },
      )
      await store.commit([{ table: TABLE, key, value }])
    },
  }
}

function parse(text: string, name: string): readonly StoredConfigVersion[] {
  const { versions } = JSON.parse(text) as Stored
  if (!Array.isArray(versions)) throw new Error(`${name} has an unknown format`)
  return versions
}

/** Returns the newest versions that fit into a size limit. */
function fit(
  versions: readonly StoredConfigVersion[],
  maxBytes: number,
): readonly StoredConfigVersion[] {
  let bytes = 0
  const first = versions.findLastIndex((version) => {
    bytes += Buffer.byteLength(JSON.stringify(version))
    return bytes > maxBytes
  })
  return versions.slice(first + 1)
}
