import { LRUCache } from 'lru-cache'
import type { Store } from '../../domain/store/store.ts'
import { internal, notFound } from '../../sdk/errors.ts'
import {
  HEAD,
  type Head,
  NOW,
  parseHead,
  toPatchKey,
  toTable,
  toTreeKey,
  type VersionEntry,
} from './records.ts'
import { applyPatch, type Patch } from './tree/patch.ts'
import { type ConfigMap, EMPTY } from './tree/tree.ts'
import { parseStored } from './tree/tree-text.ts'

/** State of a namespace at a certain version. */
export interface Snapshot {
  /** Version of the head's record in the store; 0 if the namespace was never written. */
  readonly headVersion: number
  readonly head: Head | undefined
  /** Version of the tree; 0 if the namespace was never written. */
  readonly version: number
  readonly tree: ConfigMap
}

export interface Snapshots {
  /** Reads the current state. */
  readonly read: (namespace: string) => Promise<Snapshot>
  /**
   * Reads the state at a version.
   *
   * @throws {GatewayError} 404 if the version is not stored.
   */
  readonly readVersion: (namespace: string, version: number, id: string) => Promise<Snapshot>
  /** Caches a state that was written. */
  readonly put: (namespace: string, snapshot: Snapshot, bytes: number) => void
}

/** Maximum total size in bytes of the records whose trees are cached. */
const CACHE_BYTES = 16 * 1024 * 1024
/** Overhead of a cached tree in bytes. */
const OVERHEAD_BYTES = 1000
/**
 * Maximum number of attempts, because the namespace may change between reading the head and a
 * version.
 */
const MAX_TRIES = 5
const NOTHING: Snapshot = { headVersion: 0, head: undefined, version: 0, tree: EMPTY }

/**
 * Reads the head on each call, so that writes by other processes are visible immediately. The tree
 * is read and parsed only if the head has changed.
 */
export function createSnapshots(store: Store): Snapshots {
  const cache = new LRUCache<string, Snapshot>({ maxSize: CACHE_BYTES })

  const put = (namespace: string, snapshot: Snapshot, bytes: number): void => {
    cache.set(namespace, snapshot, { size: bytes + OVERHEAD_BYTES })
  }

  async function read(namespace: string): Promise<Snapshot> {
    const table = toTable(namespace)
    const last = await store.read(table, HEAD)
    if (last === undefined) return NOTHING
    const cached = cache.get(namespace)
    if (cached?.headVersion === last.version) return cached
    // Head and tree in a single consistent read.
    const { records } = await store.list(table, { prefix: NOW })
    const record = records.find(({ key }) => key === HEAD)
    if (record === undefined) return NOTHING
    const head = parseHead(record)
    const entry = head.versions.at(-1)!
    const text = records.find(({ key }) => key === toTreeKey(entry))?.value
    if (text === undefined) throw incomplete(namespace)
    const tree = parseStored(Buffer.from(text).toString())
    const snapshot = { headVersion: record.version, head, version: entry.version, tree }
    put(namespace, snapshot, text.length)
    return snapshot
  }

  /**
   * Restores a version from the current tree. Returns undefined if a version in between was deleted
   * or re-encrypted.
   */
  async function applyPatches(
    namespace: string,
    { tree }: Snapshot,
    entries: readonly VersionEntry[],
  ): Promise<ConfigMap | undefined> {
    let before = tree
    for (const entry of entries.toReversed()) {
      const patch = await readPatch(store, namespace, entry)
      if (patch === undefined) return undefined
      before = applyPatch(before, patch)
    }
    return before
  }

  return {
    read,
    put,

    async readVersion(namespace, version, id) {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const snapshot = await read(namespace)
        if (snapshot.version === version) return snapshot
        const versions = snapshot.head?.versions ?? []
        const at = versions.findIndex((entry) => entry.version === version)
        if (at < 0) throw noSuchVersion(namespace, version, versions, id)
        const tree = await applyPatches(namespace, snapshot, versions.slice(at, -1))
        if (tree !== undefined) return { ...snapshot, version, tree }
      }
      throw incomplete(namespace)
    },
  }
}

/** Returns a 404 error for a version that is not stored. */
export function noSuchVersion(
  namespace: string,
  version: number,
  stored: readonly VersionEntry[],
  id: string,
): Error {
  const range = stored.length === 0 ? 'none' : `${stored[0]!.version} to ${stored.at(-1)!.version}`
  return notFound(id, `not found: version ${version} of ${namespace}; stored versions: ${range}`)
}

/**
 * Reads the patch that restores a version from the next one. Returns undefined if it was deleted or
 * re-encrypted.
 */
export async function readPatch(
  store: Store,
  namespace: string,
  entry: VersionEntry,
): Promise<Patch | undefined> {
  const record = await store.read(toTable(namespace), toPatchKey(entry))
  return record && parseStored(Buffer.from(record.value).toString())
}

function incomplete(namespace: string): Error {
  return internal('config', `the configuration of ${namespace} is incomplete in the store`)
}
