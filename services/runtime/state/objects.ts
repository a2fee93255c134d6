import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import type { GatewayError } from '../../../core/errors.ts'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import { readAll } from '../../../domain/store/read-all.ts'
import type { Store } from '../../../domain/store/store.ts'
import { badRequest, notFound, unavailable } from '../../../sdk/errors.ts'
import { LATEST } from '../names.ts'
import {
  formatObject,
  neverCameUp,
  parseObjectKey,
  parseServiceRecord,
  type ServiceRecord,
  TABLE,
  toNamespacePrefix,
  toObjectKey,
} from './records.ts'

/** The runtime objects in the store. */
export interface Objects {
  readonly read: (key: WorkloadKey) => Promise<ServiceRecord | undefined>
  /** Those of a namespace, in the order of their names. */
  readonly list: (namespace: string, name?: string, signal?: AbortSignal) => Promise<Listed>
  /**
   * The one that is meant: without a version `latest`, or the only one there is, of several those that ever came up.
   *
   * @param which `staying`: none that is on its way out. @default 'staying'
   * @throws {GatewayError} 404, 400 where it may be one of several.
   */
  readonly find: (
    namespace: string,
    named: Named,
    errorId: string,
    which?: 'staying' | 'all',
  ) => Promise<ServiceRecord>
  /** False: there is one already. */
  readonly add: (record: ServiceRecord) => Promise<boolean>
  /**
   * Makes another of a record, of the newest there is whoever else changes it.
   *
   * @param change returns the record itself where nothing is to be changed, undefined to remove it.
   * @returns what is there now; undefined: nothing.
   */
  readonly change: (
    key: WorkloadKey,
    change: (record: ServiceRecord) => ServiceRecord | undefined,
  ) => Promise<ServiceRecord | undefined>
}

/** What there is, in the order of names. */
export interface Listed {
  readonly records: readonly ServiceRecord[]
  /** Those another version of mx wrote. */
  readonly unread: readonly UnreadRecord[]
}

export interface UnreadRecord {
  readonly name: string
  readonly version: string
  /** Why it cannot be read. */
  readonly error: GatewayError
}

/** What a caller calls it. */
export interface Named {
  readonly name: string
  /** Empty: whichever is meant. */
  readonly version: string
}

/** Of changes that others come before each time. */
const ATTEMPTS_MAX = 20

export function createObjects(store: Store): Objects {
  async function list(namespace: string, name?: string, signal?: AbortSignal): Promise<Listed> {
    const prefix = toNamespacePrefix(namespace) + (name === undefined ? '' : `${name}:`)
    const records: ServiceRecord[] = []
    const unread: UnreadRecord[] = []
    for (const kept of await readAll(store, TABLE, prefix, signal)) {
      try {
        records.push(parseServiceRecord(kept))
      } catch (error) {
        unread.push({ ...parseObjectKey(kept.key), error: error as GatewayError })
      }
    }
    return { records, unread }
  }

  return {
    list,

    async read(key) {
      const record = await store.read(TABLE, toObjectKey(key))
      return record && parseServiceRecord(record)
    },

    async find(namespace, { name, version }, errorId, which = 'staying') {
      if (name === '') throw badRequest(errorId, 'request.resource.service.name is missing')
      const { records, unread } = await list(namespace, name)
      const there = which === 'all' ? records : records.filter(({ deleting }) => !deleting)
      const versions = there.map((record) => record.version)
      // What a misspelt branch left is hardly meant.
      const standing = there.length === 1 ? there : there.filter((record) => !neverCameUp(record))
      const isOnly = version === '' && standing.length === 1 && !versions.includes(LATEST)
      const wanted = isOnly ? standing[0]!.version : version || LATEST
      const found = there.find((record) => record.version === wanted)
      if (found !== undefined) return found
      const written = unread.find((one) => one.version === wanted)
      if (written !== undefined) throw written.error
      if (version === '' && versions.length > 1)
        throw badRequest(
          errorId,
          `there are several versions of ${name}, say which: ${versions.join(', ')}`,
        )
      const others = versions.length === 0 ? '' : `; there is ${versions.join(', ')}`
      throw notFound(
        errorId,
        `service not found: ${formatObject({ name, version: wanted })}${others}`,
      )
    },

    async add(record) {
      const write = { table: TABLE, key: toObjectKey(record), value: encodeRecord(record) }
      return (await commitIf(store, [{ ...write, ifVersion: 0 }])) !== undefined
    },

    async change(place, change) {
      const key = toObjectKey(place)
      for (let i = 0; i < ATTEMPTS_MAX; i++) {
        const kept = await store.read(TABLE, key)
        if (kept === undefined) return undefined
        const record = parseServiceRecord(kept)
        const next = change(record)
        if (next === record) return record
        const write = { table: TABLE, key, ifVersion: kept.version }
        const value = next && encodeRecord(next)
        const written = await commitIf(store, [value ? { ...write, value } : write])
        if (written !== undefined) return next
      }
      throw unavailable('runtime', `${formatObject(place)} is changed by many at once, try again`)
    },
  }
}
