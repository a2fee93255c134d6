import { GatewayError } from '../../core/errors.ts'
import type { Store, StoreWrite } from '../../core/store/store.ts'
import { conflict } from '../../sdk/errors.ts'
import { sealPlaces } from './merge.ts'
import {
  type ConfigAction,
  formatHead,
  formatKeyNote,
  HEAD,
  type Head,
  KEY_NOTE,
  parseKeyNote,
  toTable,
  toVersionKey,
  type VersionEntry,
} from './records.ts'
import { createSealer, otherKey } from './sealer.ts'
import type { SecretKey } from './secret-key.ts'
import { readTree, type Snapshot } from './snapshots.ts'
import { type ConfigMap, holdsSecret } from './tree.ts'
import { formatTree } from './tree-text.ts'

/** What is to become of a tree. */
export interface Edit {
  /** The same as before: nothing. */
  readonly tree: ConfigMap
  /** Where something is secret that was not before. */
  readonly newlySecret?: readonly (readonly string[])[]
}

/** A version to make. */
export interface NewVersion extends Edit {
  readonly action: ConfigAction
  readonly path: string
  readonly secret: boolean
  readonly account: string
  /** Of errors. */
  readonly id: string
}

/** Versions of a namespace on their way to the store. */
export interface Draft {
  /** As it would be with what was added. */
  readonly now: () => Snapshot
  /** The tree of a version; undefined: it is not kept. */
  readonly readVersion: (version: number) => Promise<ConfigMap | undefined>
  /**
   * Adds a version.
   *
   * @throws {GatewayError} 413 when the tree is too long, 503 when secrets have another key by now; then nothing was added.
   */
  readonly add: (version: NewVersion) => Promise<void>
  /** What makes all of it happen; none when nothing was added. The head is the first. */
  readonly writes: () => StoreWrite[]
  /** About the bytes of the last tree. */
  readonly bytes: () => number
}

export interface DraftOptions {
  readonly store: Store
  readonly namespace: string
  readonly secretKey: SecretKey | undefined
  readonly nowMs: () => number
  readonly maxVersions: number
}

/** A version that is kept. */
interface Kept {
  readonly entry: VersionEntry
  /** Of one that is not in the store as it is to be. */
  readonly fresh?: { readonly tree: ConfigMap; readonly text: string }
}

export function createDraft(before: Snapshot, options: DraftOptions): Draft {
  const { store, namespace, secretKey, nowMs, maxVersions } = options
  const table = toTable(namespace)
  const stored = before.head?.versions ?? []
  let kept: readonly Kept[] = stored.map((entry) => ({ entry }))
  let keyId = before.head?.keyId
  let { tree, version } = before
  let note: StoreWrite | undefined

  const toHead = (): Head => ({
    ...(keyId !== undefined && { keyId }),
    versions: kept.map(({ entry }) => entry),
  })

  const read = async ({ entry, fresh }: Kept): Promise<ConfigMap | undefined> =>
    fresh?.tree ?? (await readTree(store, namespace, entry))

  /** What is secret from now on is so in the versions before, too. */
  async function seal(
    places: readonly (readonly string[])[],
    id: string,
    newKeyId: string | undefined,
  ): Promise<Kept[]> {
    const sealer = createSealer({ namespace, secretKey, keyId: newKeyId, id })
    const next: Kept[] = []
    for (const each of kept) {
      const old = await read(each)
      const sealed = old && sealPlaces(old, places, sealer)
      if (sealed === undefined || sealed === old) {
        next.push(each)
        continue
      }
      const { keyId: _, ...entry } = each.entry
      const text = formatTree(sealed)
      // Sealed, a version may be too long to be kept.
      if (Buffer.byteLength(text) > store.maxValueBytes) continue
      next.push({
        entry: { ...entry, ...toKeyId(sealed, newKeyId) },
        fresh: { tree: sealed, text },
      })
    }
    return next
  }

  /** With the first secret of a namespace: refused, as others' changes are, when the key is being changed meanwhile. */
  async function noteKey(newKeyId: string, id: string): Promise<StoreWrite> {
    const record = await store.read(KEY_NOTE.table, KEY_NOTE.key)
    const found = record === undefined ? { keyId: newKeyId, untidy: false } : parseKeyNote(record)
    if (found.keyId !== newKeyId) throw otherKey(id)
    return { ...KEY_NOTE, value: formatKeyNote(found), ifVersion: record?.version ?? 0 }
  }

  return {
    now: () => ({ headVersion: before.headVersion, head: toHead(), version, tree }),

    async readVersion(wanted) {
      const found = kept.find(({ entry }) => entry.version === wanted)
      const known = found && (await read(found))
      if (found !== undefined && known === undefined)
        throw conflict('config', `version ${wanted} of ${namespace} is being changed: try again`)
      return known
    },

    async add({ tree: next, newlySecret = [], action, path, secret, account, id }) {
      const text = formatTree(next)
      const bytes = Buffer.byteLength(text)
      if (bytes > store.maxValueBytes)
        throw new GatewayError(
          id,
          413,
          `the configuration of ${namespace} would take ${bytes} bytes, it may take ${store.maxValueBytes}`,
        )
      if (newlySecret.length > 0) {
        const newKeyId = keyId ?? secretKey?.id
        const isFirst = keyId === undefined && newKeyId !== undefined
        const newNote = isFirst ? await noteKey(newKeyId, id) : note
        kept = await seal(newlySecret, id, newKeyId)
        note = newNote
        keyId = newKeyId
      }
      version++
      tree = next
      const timestamp = Math.floor(nowMs() / 1000)
      const about = { version, timestamp, account, action, path, secret }
      const last = { entry: { ...about, ...toKeyId(next, keyId) }, fresh: { tree: next, text } }
      kept = [...kept, last].slice(-maxVersions)
    },

    writes() {
      if (version === before.version) return []
      const writes: StoreWrite[] = [
        { table, key: HEAD, value: formatHead(toHead()), ifVersion: before.headVersion },
      ]
      for (const { entry, fresh } of kept)
        if (fresh !== undefined)
          writes.push({ table, key: toVersionKey(entry), value: Buffer.from(fresh.text) })
      if (note !== undefined) writes.push(note)
      const keys = new Set(kept.map(({ entry }) => toVersionKey(entry)))
      for (const entry of stored)
        if (!keys.has(toVersionKey(entry))) writes.push({ table, key: toVersionKey(entry) })
      return writes
    },

    bytes: () => kept.at(-1)?.fresh?.text.length ?? 0,
  }
}

function toKeyId(tree: ConfigMap, keyId: string | undefined): { readonly keyId?: string } {
  return keyId !== undefined && holdsSecret(tree) ? { keyId } : {}
}
