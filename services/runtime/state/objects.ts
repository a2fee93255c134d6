import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import type { GatewayError } from '../../../core/errors.ts'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import { readAll } from '../../../domain/store/read-all.ts'
import type { Store } from '../../../domain/store/store.ts'
import { badRequest, notFound, unavailable } from '../../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import { LATEST } from '../names.ts'
import {
  formatObject,
  hasNeverStarted,
  parseObjectKey,
  parseServiceRecord,
  RUNTIME_TABLE,
  type ServiceRecord,
  toNamespacePrefix,
  toObjectKey,
} from './records.ts'

/** Runtime objects in the store. */
export interface Objects {
  readonly read: (key: WorkloadKey) => Promise<ServiceRecord | undefined>
  /** Returns the objects of a namespace, sorted by name. */
  readonly list: (namespace: string, name?: string, signal?: AbortSignal) => Promise<Listed>
  /**
   * Finds an object. Without a version, finds `latest` or the only version, ignoring versions that never ran.
   *
   * @param selection `active` excludes objects that are being deleted. @default 'active'
   * @throws {GatewayError} 404, or 400 if the version is ambiguous.
   */
  readonly find: (
    namespace: string,
    reference: Named,
    errorId: string,
    selection?: 'active' | 'all',
  ) => Promise<ServiceRecord>
  /**
   * Returns false if the object already exists. Objects of tenants may not use the reserve of a
   * full store.
   */
  readonly add: (record: ServiceRecord) => Promise<boolean>
  /**
   * Changes a record with optimistic concurrency: `change` is called with the newest record until
   * there is no conflict.
   *
   * @param change returns the same record to leave it unchanged, or undefined to delete it.
   * @param isRequested whether a tenant may choose the size of the record, which then may not use
   * the reserve, see {@link add}. @default false
   * @returns the stored record, or undefined if not found.
   */
  readonly change: (
    key: WorkloadKey,
    change: (record: ServiceRecord) => ServiceRecord | undefined,
    isRequested?: boolean,
  ) => Promise<ServiceRecord | undefined>
}

/** Objects sorted by name. */
export interface Listed {
  readonly records: readonly ServiceRecord[]
  /** Records written by another version of mx. */
  readonly unread: readonly UnreadRecord[]
}

export interface UnreadRecord {
  readonly name: string
  readonly version: string
  /** Error from parsing the record. */
  readonly error: GatewayError
}

export interface Named {
  readonly name: string
  /** Version; any version if empty. */
  readonly version: string
}

/** Maximum number of attempts under contention. */
const ATTEMPTS_MAX = 20

export function createObjects(store: Store): Objects {
  async function list(namespace: string, name?: string, signal?: AbortSignal): Promise<Listed> {
    const prefix = toNamespacePrefix(namespace) + (name === undefined ? '' : `${name}:`)
    const records: ServiceRecord[] = []
    const unread: UnreadRecord[] = []
    for (const stored of await readAll(store, RUNTIME_TABLE, prefix, signal)) {
      try {
        records.push(parseServiceRecord(stored))
      } catch (error) {
        unread.push({ ...parseObjectKey(stored.key), error: error as GatewayError })
      }
    }
    return { records, unread }
  }

  return {
    list,

    async read(key) {
      const record = await store.read(RUNTIME_TABLE, toObjectKey(key))
      return record && parseServiceRecord(record)
    },

    async find(namespace, { name, version }, errorId, selection = 'active') {
      if (name === '') throw badRequest(errorId, 'request.resource.service.name is missing')
      const { records, unread } = await list(namespace, name)
      const candidates = selection === 'all' ? records : records.filter(({ deleting }) => !deleting)
      const versions = candidates.map((record) => record.version)
      // Ignores a version that was created by misspelling a branch.
      const started =
        candidates.length === 1
          ? candidates
          : candidates.filter((record) => !hasNeverStarted(record))
      const isOnly = version === '' && started.length === 1 && !versions.includes(LATEST)
      const targetVersion = isOnly ? started[0]!.version : version || LATEST
      const match = candidates.find((record) => record.version === targetVersion)
      if (match !== undefined) return match
      const written = unread.find((record) => record.version === targetVersion)
      if (written !== undefined) throw written.error
      if (version === '' && versions.length > 1)
        throw badRequest(
          errorId,
          `${name} has several versions, specify one: ${versions.join(', ')}`,
        )
      const existing = versions.length === 0 ? '' : `; existing versions: ${versions.join(', ')}`
      throw notFound(
        errorId,
        `service not found: ${formatObject({ name, version: targetVersion })}${existing}`,
      )
    },

    async add(record) {
      const write = { table: RUNTIME_TABLE, key: toObjectKey(record), value: encodeRecord(record) }
      const mayUseReserve = record.namespace === DEFAULT_NAMESPACE
      return (await commitIf(store, [{ ...write, ifVersion: 0, mayUseReserve }])) !== undefined
    },

    async change(objectKey, change, isRequested = false) {
      const key = toObjectKey(objectKey)
      const mayUseReserve = !isRequested || objectKey.namespace === DEFAULT_NAMESPACE
      for (let i = 0; i < ATTEMPTS_MAX; i++) {
        const stored = await store.read(RUNTIME_TABLE, key)
        if (stored === undefined) return undefined
        const record = parseServiceRecord(stored)
        const next = change(record)
        if (next === record) return record
        const write = { table: RUNTIME_TABLE, key, ifVersion: stored.version, mayUseReserve }
        const value = next && encodeRecord(next)
        const written = await commitIf(store, [value ? { ...write, value } : write])
        if (written !== undefined) return next
      }
      throw unavailable(
        'runtime',
        `${formatObject(objectKey)} is being changed concurrently, try again`,
      )
    },
  }
}
