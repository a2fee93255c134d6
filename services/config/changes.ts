import { setTimeout as delay } from 'node:timers/promises'
import { commitIf } from '../../domain/store/commit-if.ts'
import type { Store, StoreWrite } from '../../domain/store/store.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { timeout, unavailable } from '../../sdk/errors.ts'
import { createDraft, type Draft, type Edit } from './draft.ts'
import { createBatches, type Waiting } from './keyed-batcher.ts'
import type { ConfigAction } from './records.ts'
import type { SecretKey } from './secrets/secret-key.ts'
import type { Snapshot, Snapshots } from './snapshots.ts'
import type { ConfigMap } from './tree/tree.ts'

export interface Change {
  readonly namespace: string
  readonly action: ConfigAction
  readonly path: string
  readonly secret: boolean
  /** Account id of the author; empty if anonymous. */
  readonly account: string
  /** Id used in errors. */
  readonly id: string
  /** Cancels the change before it is applied. */
  readonly signal: AbortSignal
  /** Approximate size in bytes while pending. */
  readonly bytes: number
  /** Computes the new tree from the current one. It is called again after a version conflict. */
  readonly edit: (before: Snapshot, readVersion: ReadVersion) => Maybe<Edit>
}

/** Returns the tree of a version, or undefined if the version is not stored. */
export type ReadVersion = (version: number) => Promise<ConfigMap | undefined>

export interface Changes {
  /**
   * Applies a change as a new version, unless it changes nothing. All concurrent changes are
   * applied.
   *
   * @returns the resulting version.
   * @throws {GatewayError} errors from the edit; 413 if the tree is too large, 503 under
   * contention.
   */
  readonly make: (change: Change) => Promise<number>
  /** Rejects new changes. Resolves when all pending changes have settled. */
  readonly close: () => Promise<void>
}

export interface ChangesOptions {
  readonly store: Store
  readonly snapshots: Snapshots
  readonly secretKey: SecretKey | undefined
  readonly nowMs: () => number
  /** Maximum number of stored versions per namespace. */
  readonly maxVersions: number
}

type Settle = () => void

/** Maximum number of attempts under contention. */
const MAX_ATTEMPTS = 100
const MAX_DELAY_MS = 50
const MAX_WAITING_BYTES = 64 * 1024 * 1024
/** Maximum number of changes per commit, because a commit is processed synchronously. */
const MAX_BATCH = 100

/**
 * Applies changes to a namespace sequentially and commits pending changes together. Each change is
 * a version, but versions beyond the limit are not written. Changes by other processes are detected
 * by compare-and-set.
 */
export function createChanges(options: ChangesOptions): Changes {
  const { store, snapshots } = options
  const batches = createBatches({
    run: makeAll,
    maxBatch: MAX_BATCH,
    maxWaitingBytes: MAX_WAITING_BYTES,
  })

  async function makeAll(
    namespace: string,
    batch: readonly Waiting<Change, number>[],
  ): Promise<void> {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      if (attempts > 0) await delay(Math.random() * Math.min(2 ** attempts, MAX_DELAY_MS))
      if (await attempt(namespace, batch)) return
    }
    const detail = `the configuration of ${namespace} is being changed concurrently; try again`
    for (const { work, reject } of batch) reject(unavailable(work.id, detail))
  }

  /** @returns false on a version conflict. */
  async function attempt(
    namespace: string,
    batch: readonly Waiting<Change, number>[],
  ): Promise<boolean> {
    const draft = createDraft(await snapshots.read(namespace), { ...options, namespace })
    const settles: Settle[] = []
    for (const { work, resolve, reject } of batch) {
      try {
        const version = await add(draft, work)
        settles.push(() => resolve(version))
      } catch (error) {
        settles.push(() => reject(error))
      }
    }
    const writes = draft.writes()
    if (writes.length > 0) {
      const headVersion = await tryCommit(writes)
      if (headVersion === undefined) return false
      snapshots.put(namespace, { ...draft.now(), headVersion }, draft.bytes())
    }
    for (const settle of settles) settle()
    return true
  }

  /** @returns the resulting version. */
  async function add(draft: Draft, change: Change): Promise<number> {
    if (change.signal.aborted) throw timeout(change.id, 'the change was cancelled')
    const before = draft.now()
    const edit = await change.edit(before, draft.readVersion)
    const isFirst = before.version === 0 && change.action === 'set'
    if (edit.tree !== before.tree || isFirst) await draft.add({ ...change, ...edit })
    return draft.now().version
  }

  /** @returns the version of the first record, or undefined on a conflict. */
  async function tryCommit(writes: readonly StoreWrite[]): Promise<number | undefined> {
    return (await commitIf(store, writes))?.[0]
  }

  return {
    make: (change) => batches.push(change.namespace, change, change.bytes),
    close: batches.close,
  }
}
