import { setTimeout as delay } from 'node:timers/promises'
import type { Maybe } from '../../core/chain.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Store, StoreWrite } from '../../core/store/store.ts'
import { timeout, unavailable } from '../../sdk/errors.ts'
import { sealPlaces } from './merge.ts'
import {
  type ConfigAction,
  formatHead,
  formatKeyNote,
  HEAD,
  KEY_NOTE,
  parseKeyNote,
  toTable,
  toVersionKey,
  type VersionEntry,
} from './records.ts'
import { createSealer, otherKey } from './sealer.ts'
import type { SecretKey } from './secret-key.ts'
import { readTree, type Snapshot, type Snapshots } from './snapshots.ts'
import { type ConfigMap, holdsSecret } from './tree.ts'
import { formatStored } from './tree-text.ts'
import { createTurns } from './turns.ts'

/** What is to become of a tree. */
export interface Edit {
  /** The same as before: nothing. */
  readonly tree: ConfigMap
  /** Where something is secret that was not before. */
  readonly newlySecret?: readonly (readonly string[])[]
}

/** A change of a namespace. */
export interface Change {
  readonly namespace: string
  readonly action: ConfigAction
  readonly path: string
  readonly secret: boolean
  /** Id of who wants it; empty: nobody knows. */
  readonly account: string
  /** Of errors. */
  readonly id: string
  /** Nobody waits for it any more: then it does not happen. */
  readonly signal: AbortSignal
  /** About what it takes while it waits. */
  readonly bytes: number
  /** Says what to make of what is there; again when somebody else was faster. */
  readonly edit: (before: Snapshot) => Maybe<Edit>
}

/** Changes namespaces. */
export interface Changes {
  /**
   * Makes a version of a change, unless it changes nothing; none is lost to others that happen at the same time.
   *
   * @returns the version that counts then.
   * @throws {GatewayError} what the edit throws; 413 when the tree is too long, 503 when too many others change it.
   */
  readonly make: (change: Change) => Promise<number>
  /** Takes nothing more; resolves when everything is done. */
  readonly close: () => Promise<void>
}

export interface ChangesOptions {
  readonly store: Store
  readonly snapshots: Snapshots
  readonly secretKey: SecretKey | undefined
  readonly nowMs: () => number
  /** Versions that are kept of a namespace. */
  readonly maxVersions: number
}

/** Of a change somebody else was faster than each time. */
const MAX_ATTEMPTS = 100
const MAX_DELAY_MS = 50
const MAX_WAITING_BYTES = 64 * 1024 * 1024

/** Changes of one namespace happen one by one; other processes are noticed by compare-and-set. */
export function createChanges(options: ChangesOptions): Changes {
  const { store, snapshots, secretKey, nowMs, maxVersions } = options
  const turns = createTurns(MAX_WAITING_BYTES)

  /** @returns the version that counts; undefined: somebody else was faster. */
  async function attempt(change: Change): Promise<number | undefined> {
    const { namespace, action, path, secret, account } = change
    const before = await snapshots.read(namespace)
    const { tree, newlySecret = [] } = await change.edit(before)
    const isFirst = before.head === undefined
    if (tree === before.tree && !(isFirst && action === 'set')) return before.version
    const keyId = before.head?.keyId ?? (newlySecret.length > 0 ? secretKey?.id : undefined)
    const version = before.version + 1
    const timestamp = Math.floor(nowMs() / 1000)
    const entry = { version, timestamp, account, action, path, secret, ...toKeyId(tree, keyId) }
    const table = toTable(namespace)
    const value = Buffer.from(formatStored(tree))
    if (value.length > store.maxValueBytes) throw tooLong(change, value.length)
    const old = before.head?.versions ?? []
    const start = Math.max(0, old.length + 1 - maxVersions)
    const { entries, writes } = await sealHistory(change, old.slice(start), newlySecret, keyId)
    const head = { ...(keyId !== undefined && { keyId }), versions: [...entries, entry] }
    for (const dropped of old.slice(0, start)) writes.push({ table, key: toVersionKey(dropped) })
    writes.push({ table, key: toVersionKey(entry), value })
    if (keyId !== undefined && before.head?.keyId === undefined)
      writes.push(await noteKey(keyId, change.id))
    try {
      const [headVersion] = await store.commit([
        { table, key: HEAD, value: formatHead(head), ifVersion: before.headVersion },
        ...writes,
      ])
      snapshots.remember(
        namespace,
        { headVersion: headVersion!, head, version, tree },
        value.length,
      )
      return version
    } catch (error) {
      if (error instanceof GatewayError && error.code === 409) return undefined
      throw error
    }
  }

  /** What is secret from now on is so in the versions before, too. */
  async function sealHistory(
    { namespace, id }: Change,
    kept: readonly VersionEntry[],
    places: readonly (readonly string[])[],
    keyId: string | undefined,
  ): Promise<{ entries: VersionEntry[]; writes: StoreWrite[] }> {
    const entries: VersionEntry[] = []
    const writes: StoreWrite[] = []
    const table = toTable(namespace)
    const sealer = createSealer({ namespace, secretKey, keyId, id })
    for (const entry of kept) {
      const tree = places.length === 0 ? undefined : await readTree(store, namespace, entry)
      const sealed = tree && sealPlaces(tree, places, sealer)
      if (sealed === undefined || sealed === tree) {
        entries.push(entry)
        continue
      }
      const value = Buffer.from(formatStored(sealed))
      const next = { ...entry, ...toKeyId(sealed, keyId) }
      if (entry.keyId === undefined) writes.push({ table, key: toVersionKey(entry) })
      // Sealed, a version may be too long to be kept.
      if (value.length > store.maxValueBytes) {
        if (entry.keyId !== undefined) writes.push({ table, key: toVersionKey(entry) })
        continue
      }
      entries.push(next)
      writes.push({ table, key: toVersionKey(next), value })
    }
    return { entries, writes }
  }

  /** The first secret of a namespace: refused, as others' changes are, when the key is being changed meanwhile. */
  async function noteKey(keyId: string, id: string): Promise<StoreWrite> {
    const record = await store.read(KEY_NOTE.table, KEY_NOTE.key)
    const note = record === undefined ? { keyId, untidy: false } : parseKeyNote(record)
    if (note.keyId !== keyId) throw otherKey(id)
    return { ...KEY_NOTE, value: formatKeyNote(note), ifVersion: record?.version ?? 0 }
  }

  function tooLong({ id, namespace }: Change, bytes: number): GatewayError {
    return new GatewayError(
      id,
      413,
      `the configuration of ${namespace} would take ${bytes} bytes, it may take ${store.maxValueBytes}`,
    )
  }

  return {
    make: (change) =>
      turns.take(change.namespace, change.bytes, async () => {
        for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
          if (attempts > 0) await delay(Math.random() * Math.min(2 ** attempts, MAX_DELAY_MS))
          if (change.signal.aborted)
            throw timeout(change.id, 'nobody waits for the change any more')
          const version = await attempt(change)
          if (version !== undefined) return version
        }
        throw unavailable(
          change.id,
          `the configuration of ${change.namespace} is changed all the time by others: try again`,
        )
      }),

    close: turns.close,
  }
}

function toKeyId(tree: ConfigMap, keyId: string | undefined): { readonly keyId?: string } {
  return keyId !== undefined && holdsSecret(tree) ? { keyId } : {}
}
