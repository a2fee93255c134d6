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
  readonly edit: (before: Snapshot, readVersion: ReadVersion) => Maybe<Edit>
}

/** The tree of a version; undefined: it is not kept. */
export type ReadVersion = (version: number) => Promise<ConfigMap | undefined>

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

type Settle = () => void

/** Of a change somebody else was faster than each time. */
const MAX_ATTEMPTS = 100
const MAX_DELAY_MS = 50
const MAX_WAITING_BYTES = 64 * 1024 * 1024
/** Changes of a commit: its work is done in one go. */
const MAX_BATCH = 100

/**
 * Changes of a namespace happen one after the other, those that wait in one commit: each is a version, and those that are not
 * kept are not written. Other processes are noticed by compare-and-set.
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
    const detail = `the configuration of ${namespace} is changed all the time by others: try again`
    for (const { work, reject } of batch) reject(unavailable(work.id, detail))
  }

  /** @returns whether nobody else was faster. */
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
      snapshots.remember(namespace, { ...draft.now(), headVersion }, draft.bytes())
    }
    for (const settle of settles) settle()
    return true
  }

  /** @returns the version that counts then. */
  async function add(draft: Draft, change: Change): Promise<number> {
    if (change.signal.aborted) throw timeout(change.id, 'nobody waits for the change any more')
    const before = draft.now()
    const edit = await change.edit(before, draft.readVersion)
    const isFirst = before.version === 0 && change.action === 'set'
    if (edit.tree !== before.tree || isFirst) await draft.add({ ...change, ...edit })
    return draft.now().version
  }

  /** @returns the version of the first record; undefined: somebody else was faster. */
  async function tryCommit(writes: readonly StoreWrite[]): Promise<number | undefined> {
    return (await commitIf(store, writes))?.[0]
  }

  return {
    make: (change) => batches.push(change.namespace, change, change.bytes),
    close: batches.close,
  }
}
