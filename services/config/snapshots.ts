import { LRUCache } from 'lru-cache'
import type { Store } from '../../core/store/store.ts'
import { internal, notFound } from '../../sdk/errors.ts'
import { HEAD, type Head, parseHead, toTable, toVersionKey, type VersionEntry } from './records.ts'
import { type ConfigMap, EMPTY } from './tree.ts'
import { parseStored } from './tree-text.ts'

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
/** Between a head and its version there may be changes. */
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
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const record = await store.read(toTable(namespace), HEAD)
      if (record === undefined) return NOTHING
      const cached = cache.get(namespace)
      if (cached?.headVersion === record.version) return cached
      const head = parseHead(record)
      const last = head.versions.at(-1)!
      const text = await readText(store, namespace, last)
      if (text === undefined) continue
      const tree = parseStored(text.toString())
      const snapshot = { headVersion: record.version, head, version: last.version, tree }
      remember(namespace, snapshot, text.length)
      return snapshot
    }
    throw incomplete(namespace)
  }

  return {
    read,
    remember,

    async readVersion(namespace, version, id) {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const snapshot = await read(namespace)
        if (snapshot.version === version) return snapshot
        const versions = snapshot.head?.versions ?? []
        const entry = versions.find((each) => each.version === version)
        if (entry === undefined) throw noSuchVersion(namespace, version, versions, id)
        const tree = await readTree(store, namespace, entry)
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

function incomplete(namespace: string): Error {
  return internal('config', `the configuration of ${namespace} is incomplete in the store`)
}

/** The tree of a version; undefined: it is kept no more, or encrypted anew. */
export async function readTree(
  store: Store,
  namespace: string,
  entry: VersionEntry,
): Promise<ConfigMap | undefined> {
  const text = await readText(store, namespace, entry)
  return text && parseStored(text.toString())
}

async function readText(
  store: Store,
  namespace: string,
  entry: VersionEntry,
): Promise<Buffer | undefined> {
  const record = await store.read(toTable(namespace), toVersionKey(entry))
  return record && Buffer.from(record.value)
}
