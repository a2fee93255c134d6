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

/** A namespace at some moment. */
export interface Snapshot {
  /** Version of the head's record in the store; 0: there is none, the namespace was never written. */
  readonly headVersion: number
  readonly head: Head | undefined
  /** Of the tree; 0: the namespace was never written. */
  readonly version: number
  readonly tree: ConfigMap
}

/** Reads namespaces. */
export interface Snapshots {
  /** What counts now. */
  readonly read: (namespace: string) => Promise<Snapshot>
  /**
   * What counted at a version.
   *
   * @throws {GatewayError} 404 when it is not kept.
   */
  readonly readVersion: (namespace: string, version: number, id: string) => Promise<Snapshot>
  /** Keeps at hand what was written. */
  readonly remember: (namespace: string, snapshot: Snapshot, bytes: number) => void
}

/** Bytes of records whose trees are kept at hand. */
const CACHE_BYTES = 16 * 1024 * 1024
/** What a tree takes besides. */
const OVERHEAD_BYTES = 1000
/** Between a head and a version there may be changes. */
const MAX_TRIES = 5
const NOTHING: Snapshot = { headVersion: 0, head: undefined, version: 0, tree: EMPTY }

/**
 * Reads the head each time, so that what others wrote counts at once; the tree is read and parsed again only when the
 * head is another one.
 */
export function createSnapshots(store: Store): Snapshots {
  const cache = new LRUCache<string, Snapshot>({ maxSize: CACHE_BYTES })

  const remember = (namespace: string, snapshot: Snapshot, bytes: number): void => {
    cache.set(namespace, snapshot, { size: bytes + OVERHEAD_BYTES })
  }

  async function read(namespace: string): Promise<Snapshot> {
    const table = toTable(namespace)
    const last = await store.read(table, HEAD)
    if (last === undefined) return NOTHING
    const cached = cache.get(namespace)
    if (cached?.headVersion === last.version) return cached
    // Head and tree at the same moment.
    const { records } = await store.list(table, { prefix: NOW })
    const record = records.find(({ key }) => key === HEAD)
    if (record === undefined) return NOTHING
    const head = parseHead(record)
    const entry = head.versions.at(-1)!
    const text = records.find(({ key }) => key === toTreeKey(entry))?.value
    if (text === undefined) throw incomplete(namespace)
    const tree = parseStored(Buffer.from(text).toString())
    const snapshot = { headVersion: record.version, head, version: entry.version, tree }
    remember(namespace, snapshot, text.length)
    return snapshot
  }

  /** Goes back from what counts now; undefined: a version on the way is kept no more, or encrypted anew. */
  async function goBack(
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
    remember,

    async readVersion(namespace, version, id) {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const snapshot = await read(namespace)
        if (snapshot.version === version) return snapshot
        const versions = snapshot.head?.versions ?? []
        const at = versions.findIndex((entry) => entry.version === version)
        if (at < 0) throw noSuchVersion(namespace, version, versions, id)
        const tree = await goBack(namespace, snapshot, versions.slice(at, -1))
        if (tree !== undefined) return { ...snapshot, version, tree }
      }
      throw incomplete(namespace)
    },
  }
}

/** 404: the version is not kept. */
export function noSuchVersion(
  namespace: string,
  version: number,
  kept: readonly VersionEntry[],
  id: string,
): Error {
  const known = kept.length === 0 ? 'none' : `${kept[0]!.version} to ${kept.at(-1)!.version}`
  return notFound(id, `not found: version ${version} of ${namespace}; kept: ${known}`)
}

/** What makes a version of the next one; undefined: it is kept no more, or encrypted anew. */
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
