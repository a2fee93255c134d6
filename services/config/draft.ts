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

export interface Edit {
  /** New tree; the same object if nothing changes. */
  readonly tree: ConfigMap
  /** Paths of values that become secret. */
  readonly newlySecret?: readonly (readonly string[])[]
}

export interface NewVersion extends Edit {
  readonly action: ConfigAction
  readonly path: string
  readonly secret: boolean
  readonly account: string
  /** Id used in errors. */
  readonly id: string
}

/** Versions of a namespace that are about to be stored. */
export interface Draft {
  /** Returns the snapshot including the added versions. */
  readonly now: () => Snapshot
  /** Returns the tree of a version, or undefined if the version is not stored. */
  readonly readVersion: (version: number) => Promise<ConfigMap | undefined>
  /**
   * Adds a version.
   *
   * @throws {GatewayError} 413 if the tree is too large, 503 if the key of secrets has changed. No
   * version is added in these cases.
   */
  readonly add: (version: NewVersion) => Promise<void>
  /**
   * Returns the writes of all added versions, starting with the head. Empty if no version was
   * added.
   */
  readonly writes: () => StoreWrite[]
  /** Returns the size of the tree in bytes. */
  readonly bytes: () => number
}

export interface DraftOptions {
  readonly store: Store
  readonly namespace: string
  readonly secretKey: SecretKey | undefined
  readonly nowMs: () => number
  readonly maxVersions: number
}

/** A previous version. */
interface PastVersion {
  readonly entry: VersionEntry
  /** Patch that restores it from the next version, unless the patch is already stored. */
  readonly patch?: Patch
}

export function createDraft(before: Snapshot, options: DraftOptions): Draft {
  const { store, namespace, secretKey, nowMs, maxVersions } = options
  const table = toTable(namespace)
  const stored: Head = before.head ?? { versions: [] }
  let past: readonly PastVersion[] = stored.versions.slice(0, -1).map((entry) => ({ entry }))
  let last = stored.versions.at(-1)
  let { keyId } = stored
  let { tree } = before
  let note: StoreWrite | undefined

  const toHead = (): Head => ({
    ...(keyId !== undefined && { keyId }),
    versions: [...past.map(({ entry }) => entry), ...(last === undefined ? [] : [last])],
  })

  const read = async ({ entry, patch }: PastVersion): Promise<Patch | undefined> =>
    patch ?? (await readPatch(store, namespace, entry))

  /**
   * Returns a previous version with its patch, or undefined if the patch is too large to be stored.
   */
  function toPastVersion(
    { keyId: _, ...entry }: VersionEntry,
    patch: Patch,
  ): PastVersion | undefined {
    return sizeOfTree(patch) > store.maxValueBytes
      ? undefined
      : { entry: { ...entry, ...toKeyId(patch) }, patch }
  }

  /**
   * Also encrypts newly secret values in previous versions. Versions before one without a patch are
   * dropped.
   */
  async function toSealed(
    all: readonly PastVersion[],
    paths: readonly (readonly string[])[],
    id: string,
  ): Promise<PastVersion[]> {
    const sealer = createSealer({ namespace, secretKey, keyId, id })
    const sealed: PastVersion[] = []
    for (const each of all.toReversed()) {
      const patch = await read(each)
      const next = patch && sealPatch(patch, paths, sealer)
      const retained = next === undefined || next === patch ? each : toPastVersion(each.entry, next)
      if (retained === undefined) break
      sealed.unshift(retained)
    }
    return sealed
  }

  /**
   * Returns the write of the key note with the first secret of a namespace, which conflicts with a
   * concurrent key rotation.
   */
  async function toKeyNoteWrite(currentKeyId: string, id: string): Promise<StoreWrite> {
    const record = await store.read(KEY_NOTE.table, KEY_NOTE.key)
    const previous =
      record === undefined ? { keyId: currentKeyId, untidy: false } : parseKeyNote(record)
    if (previous.keyId !== currentKeyId) throw otherKey(id)
    return { ...KEY_NOTE, value: formatKeyNote(previous), ifVersion: record?.version ?? 0 }
  }

  function toKeyId(content: ConfigMap): { readonly keyId?: string } {
    const currentKeyId = keyId ?? secretKey?.id
    return currentKeyId !== undefined && holdsSecret(content) ? { keyId: currentKeyId } : {}
  }

  return {
    now: () => ({
      headVersion: before.headVersion,
      head: last === undefined ? undefined : toHead(),
      version: last?.version ?? 0,
      tree,
    }),

    async readVersion(requested) {
      if (requested === last?.version) return tree
      const at = past.findIndex(({ entry }) => entry.version === requested)
      if (at < 0) return undefined
      let current = tree
      for (const each of past.slice(at).toReversed()) {
        const patch = await read(each)
        if (patch === undefined)
          throw conflict(
            'config',
            `version ${requested} of ${namespace} is being changed; try again`,
          )
        current = applyPatch(current, patch)
      }
      return current
    },

    async add({ tree: next, newlySecret = [], action, path, secret, account, id }) {
      const bytes = sizeOfTree(next)
      if (bytes > store.maxValueBytes)
        throw new GatewayError(
          id,
          413,
          `the configuration of ${namespace} exceeds the limit of ${store.maxValueBytes} bytes, got ${bytes}`,
        )
      const replaced = last && toPastVersion(last, toPatch(next, tree))
      // Previous versions and the new one may together be at most `maxVersions`.
      const excess = Math.max(0, past.length + 2 - maxVersions)
      let all = replaced === undefined ? [] : [...past, replaced].slice(excess)
      if (newlySecret.length > 0) {
        const currentKeyId = secretKey?.id
        const first =
          keyId === undefined && currentKeyId !== undefined
            ? await toKeyNoteWrite(currentKeyId, id)
            : note
        all = await toSealed(all, newlySecret, id)
        note = first
        keyId ??= currentKeyId
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
