import { GatewayError } from '../../core/errors.ts'
import type { Store, StoreWrite } from '../../domain/store/store.ts'
import { conflict } from '../../sdk/errors.ts'
import {
  type ConfigAction,
  formatHead,
  formatKeyNote,
  HEAD,
  type Head,
  KEY_NOTE,
  parseKeyNote,
  toKeys,
  toPatchKey,
  toTable,
  toTreeKey,
  type VersionEntry,
} from './records.ts'
import { sealPatch } from './secrets/seal-patch.ts'
import { createSealer, otherKey } from './secrets/sealer.ts'
import type { SecretKey } from './secrets/secret-key.ts'
import { readPatch, type Snapshot } from './snapshots.ts'
import { applyPatch, type Patch, toPatch } from './tree/patch.ts'
import { type ConfigMap, holdsSecret } from './tree/tree.ts'
import { formatTree, sizeOfTree } from './tree/tree-text.ts'

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
  /** Bytes of the tree. */
  readonly bytes: () => number
}

export interface DraftOptions {
  readonly store: Store
  readonly namespace: string
  readonly secretKey: SecretKey | undefined
  readonly nowMs: () => number
  readonly maxVersions: number
}

/** A version before the last. */
interface Past {
  readonly entry: VersionEntry
  /** What makes it of the next one, unless that is in the store already. */
  readonly patch?: Patch
}

export function createDraft(before: Snapshot, options: DraftOptions): Draft {
  const { store, namespace, secretKey, nowMs, maxVersions } = options
  const table = toTable(namespace)
  const stored: Head = before.head ?? { versions: [] }
  let past: readonly Past[] = stored.versions.slice(0, -1).map((entry) => ({ entry }))
  let last = stored.versions.at(-1)
  let { keyId } = stored
  let { tree } = before
  let note: StoreWrite | undefined

  const toHead = (): Head => ({
    ...(keyId !== undefined && { keyId }),
    versions: [...past.map(({ entry }) => entry), ...(last === undefined ? [] : [last])],
  })

  const read = async ({ entry, patch }: Past): Promise<Patch | undefined> =>
    patch ?? (await readPatch(store, namespace, entry))

  /** A version that was, with its patch; undefined: that is too long to be kept. */
  function toPast({ keyId: _, ...entry }: VersionEntry, patch: Patch): Past | undefined {
    return sizeOfTree(patch) > store.maxValueBytes
      ? undefined
      : { entry: { ...entry, ...toKeyId(patch) }, patch }
  }

  /** What is secret from now on is so in the versions before, too. Without the patch of one nothing before it is kept. */
  async function toSealed(
    all: readonly Past[],
    places: readonly (readonly string[])[],
    id: string,
  ): Promise<Past[]> {
    const sealer = createSealer({ namespace, secretKey, keyId, id })
    const sealed: Past[] = []
    for (const each of all.toReversed()) {
      const patch = await read(each)
      const next = patch && sealPatch(patch, places, sealer)
      const kept = next === undefined || next === patch ? each : toPast(each.entry, next)
      if (kept === undefined) break
      sealed.unshift(kept)
    }
    return sealed
  }

  /** With the first secret of a namespace: refused, as others' changes are, when the key is being changed meanwhile. */
  async function noteKey(own: string, id: string): Promise<StoreWrite> {
    const record = await store.read(KEY_NOTE.table, KEY_NOTE.key)
    const found = record === undefined ? { keyId: own, untidy: false } : parseKeyNote(record)
    if (found.keyId !== own) throw otherKey(id)
    return { ...KEY_NOTE, value: formatKeyNote(found), ifVersion: record?.version ?? 0 }
  }

  function toKeyId(content: ConfigMap): { readonly keyId?: string } {
    const own = keyId ?? secretKey?.id
    return own !== undefined && holdsSecret(content) ? { keyId: own } : {}
  }

  return {
    now: () => ({
      headVersion: before.headVersion,
      head: last === undefined ? undefined : toHead(),
      version: last?.version ?? 0,
      tree,
    }),

    async readVersion(wanted) {
      if (wanted === last?.version) return tree
      const at = past.findIndex(({ entry }) => entry.version === wanted)
      if (at < 0) return undefined
      let found = tree
      for (const each of past.slice(at).toReversed()) {
        const patch = await read(each)
        if (patch === undefined)
          throw conflict('config', `version ${wanted} of ${namespace} is being changed: try again`)
        found = applyPatch(found, patch)
      }
      return found
    },

    async add({ tree: next, newlySecret = [], action, path, secret, account, id }) {
      const bytes = sizeOfTree(next)
      if (bytes > store.maxValueBytes)
        throw new GatewayError(
          id,
          413,
          `the configuration of ${namespace} would take ${bytes} bytes, it may take ${store.maxValueBytes}`,
        )
      const undone = last && toPast(last, toPatch(next, tree))
      // All of them, and this one, are as many as are kept.
      const room = Math.max(0, past.length + 2 - maxVersions)
      let all = undone === undefined ? [] : [...past, undone].slice(room)
      if (newlySecret.length > 0) {
        const own = secretKey?.id
        const first = keyId === undefined && own !== undefined ? await noteKey(own, id) : note
        all = await toSealed(all, newlySecret, id)
        note = first
        keyId ??= own
      }
      past = all
      const timestamp = Math.floor(nowMs() / 1000)
      const version = (last?.version ?? 0) + 1
      last = { version, timestamp, account, action, path, secret, ...toKeyId(next) }
      tree = next
    },

    writes() {
      const head = toHead()
      if (last === undefined || last.version === before.version) return []
      const writes: StoreWrite[] = [
        { table, key: HEAD, value: formatHead(head), ifVersion: before.headVersion },
        { table, key: toTreeKey(last), value: Buffer.from(formatTree(tree)) },
      ]
      for (const { entry, patch } of past)
        if (patch !== undefined)
          writes.push({ table, key: toPatchKey(entry), value: Buffer.from(formatTree(patch)) })
      if (note !== undefined) writes.push(note)
      const keys = new Set(toKeys(head))
      for (const key of toKeys(stored)) if (!keys.has(key)) writes.push({ table, key })
      return writes
    },

    bytes: () => sizeOfTree(tree),
  }
}
