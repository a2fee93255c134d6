import type { Runtime, Workload, WorkloadState } from '../../core/contracts/runtime.ts'
import type { Store } from '../../domain/store/store.ts'
import { type WatchedRecords, watchRecords } from '../../domain/store/watch-records.ts'
import { createEventFeed } from '../../sdk/events/event-feed.ts'
import type { ServiceLog } from '../../sdk/log/service-log.ts'
import type { Folders } from './jobs/folders.ts'
import type { Prepare, RemoveBuild } from './jobs/prepare.ts'
import { type Deployment, toMessage } from './state/deployment.ts'
import { createDeployments } from './state/deployments.ts'
import { withLive } from './state/live.ts'
import type { Objects } from './state/objects.ts'
import {
  OBJECTS_PREFIX,
  parseServiceRecord,
  type Revision,
  RUNTIME_TABLE,
  type ServiceRecord,
  toObjectKey,
} from './state/records.ts'

export interface ReconcilerOptions {
  readonly store: Store
  readonly objects: Objects
  readonly runtime: Runtime
  /** Returns whether this server manages an object. */
  readonly owns: (record: ServiceRecord) => boolean
  /**
   * Returns whether this server is active; false while another server holds the lease.
   */
  readonly isActing: () => boolean
  readonly folders: Folders
  readonly prepare: Prepare
  /** See {@link createDeployments}. */
  readonly removeBuild?: RemoveBuild
  readonly toWorkload: (record: ServiceRecord, revision: Revision) => Promise<Workload>
  /** Deletes files and accounts of a deleted object. */
  readonly cleanUp: (record: ServiceRecord) => Promise<void>
  readonly log: ServiceLog
  /** Maximum number of concurrent builds. */
  readonly builds: number
  /** Interval between full reconciliations in milliseconds. */
  readonly everyMs: number
  readonly nowMs: () => number
}

/**
 * Makes the objects of this server match their records, even after changes made by other servers.
 */
export interface Reconciler {
  /**
   * Reads all records and starts reconciling.
   *
   * @throws {GatewayError} 503 if the store is unavailable.
   */
  readonly begin: () => Promise<void>
  /** Reconciles all objects, because another server may have changed them. */
  readonly resume: () => void
  /** Stops work in progress. The server that takes over starts it again. */
  readonly pause: () => Promise<void>
  /** Resolves once all earlier changes have been detected. */
  readonly refresh: () => Promise<void>
  /** Records of all servers, by key. */
  readonly records: ReadonlyMap<string, ServiceRecord>
  /** Returns the deployment in progress of an object of this server. */
  readonly deployment: (key: string) => Deployment | undefined
  /**
   * Calls `listener` with the new and the old state of each changed record until the returned
   * function is called.
   */
  readonly watch: (listener: RecordListener) => () => void
  /**
   * Stops everything that runs on this server and all work in progress. The next start resumes it.
   */
  readonly close: () => Promise<void>
}

/** Listener for changed records. `now` is undefined for a deleted record. */
export type RecordListener = (
  now: ServiceRecord | undefined,
  before: ServiceRecord | undefined,
) => void

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { store, objects, runtime, folders, prepare, toWorkload, cleanUp } = options
  const { owns, isActing, log, builds, everyMs, nowMs } = options
  const records = new Map<string, ServiceRecord>()
  const states = new Map<string, WorkloadState>()
  /** The last applied revision of each object. */
  const applied = new Map<string, Revision>()
  /** Objects whose state in the runtime differs from `applied`. */
  const drifted = new Set<string>()
  /** Errors of the last reconciliation by key. */
  const errors = new Map<string, string>()
  const reconciling = new Map<string, Promise<void>>()
  const queued = new Set<string>()
  const listeners = new Set<RecordListener>()
  const stateListeners = new Set<(key: string) => void>()
  let watched: WatchedRecords | undefined
  let timer: NodeJS.Timeout | undefined
  let closing: Promise<void> | undefined

  /** Reconciles an object once its current reconciliation has ended. */
  function reconcile(key: string): void {
    if (closing !== undefined || !isActing()) return
    queued.add(key)
    if (!reconciling.has(key)) reconciling.set(key, reconcileLoop(key))
  }

  async function reconcileLoop(key: string): Promise<void> {
    while (queued.delete(key) && closing === undefined && isActing()) {
      try {
        await settle(key)
        errors.delete(key)
      } catch (error) {
        const reason = toMessage(error)
        const service = records.get(key)?.name ?? key
        if (errors.get(key) !== reason)
          log.warn({ service, reason }, 'service reconciliation failed; retrying')
        errors.set(key, reason)
      }
    }
    reconciling.delete(key)
  }

  async function settle(key: string): Promise<void> {
    const record = records.get(key)
    if (record === undefined || !owns(record)) return
    if (record.deleting) return remove(record)
    const { asked, settled, current } = record
    const last = drifted.has(key) ? applied.get(key) : undefined
    if (last !== undefined) await restore(record, last)
    const isInProgress = asked.id !== settled
    if (isInProgress && deployments.get(key)?.requestId !== asked.id) {
      await deployments.cancel(key)
      // The cancelled deployment may have just become ready while the cached record is stale.
      // Settled requests are not built again.
      const now = await objects.read(record)
      if (now?.deleting === false && now.asked.id !== now.settled) await begin(now)
    } else if (current !== undefined) {
      if (isInProgress ? !applied.has(key) : applied.get(key)?.id !== current.id)
        await applyCurrent(record, current)
    }
    await saveState(key)
  }

  /** Starts the requested deployment. The current revision serves requests until it is ready. */
  async function begin(record: ServiceRecord): Promise<void> {
    const { current } = record
    const appliedId = applied.get(toObjectKey(record))?.id
    if (current === undefined) {
      if (appliedId !== undefined) await end(record)
    } else if (appliedId !== current.id) {
      // The request may fix the current revision.
      await applyCurrent(record, current).catch(() => {})
    }
    deployments.begin(record)
  }

  async function apply(record: ServiceRecord, revision: Revision): Promise<void> {
    const key = toObjectKey(record)
    const workload = await toWorkload(record, revision)
    applied.set(key, revision)
    await runtime.apply(workload)
    for (const state of await runtime.read()) states.set(toObjectKey(state), state)
  }

  async function restore(record: ServiceRecord, last: Revision): Promise<void> {
    const key = toObjectKey(record)
    drifted.delete(key)
    try {
      await apply(record, last)
    } catch (error) {
      if (applied.has(key)) drifted.add(key)
      throw error
    }
    log.info({ service: record.name }, 'restored externally modified service')
  }

  /** Applies the current revision. Errors are shown in its state. */
  async function applyCurrent(record: ServiceRecord, current: Revision): Promise<void> {
    try {
      await apply(record, current)
    } catch (error) {
      applied.delete(toObjectKey(record))
      const fault = toMessage(error)
      await objects.change(record, (now) =>
        now.fault === fault ? now : { ...now, status: 'starting', fault, changedMs: nowMs() },
      )
      throw error
    }
  }

  async function end(record: ServiceRecord): Promise<void> {
    await runtime.remove(record)
    applied.delete(toObjectKey(record))
    drifted.delete(toObjectKey(record))
    states.delete(toObjectKey(record))
  }

  async function remove(record: ServiceRecord): Promise<void> {
    const key = toObjectKey(record)
    await deployments.cancel(key)
    await end(record)
    await cleanUp(record)
    await objects.change(record, (now) => (now.deleting ? undefined : now))
  }

  function withState(record: ServiceRecord): ServiceRecord {
    const key = toObjectKey(record)
    const [deployment, state] = [deployments.get(key), states.get(key)]
    return withLive(record, { deployment, state, nowMs: nowMs() })
  }

  /** Stores the observed state of an object. */
  async function saveState(key: string): Promise<void> {
    const record = records.get(key)
    if (record === undefined || withState(record) === record) return
    await objects.change(record, withState)
  }

  async function* statesOf(key: string, signal: AbortSignal) {
    const feed = createEventFeed<WorkloadState | undefined>({
      ...{ id: 'runtime', maxWaiting: 1 },
      onClose: () => stateListeners.delete(onState),
    })
    const onState = (changed: string): void => {
      if (changed === key) feed.push(key, states.get(key))
    }
    const end = (): void => void feed.return!()
    stateListeners.add(onState)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    try {
      yield states.get(key)
      yield* feed
    } finally {
      signal.removeEventListener('abort', end)
      end()
    }
  }

  const deployments = createDeployments({
    ...{ objects, folders, prepare, builds, apply, log },
    ...(options.removeBuild && { removeBuild: options.removeBuild }),
    ...{ states: statesOf, withLive: withState, onChange: reconcile },
  })

  const stopWatching = runtime.watch((state) => {
    const key = toObjectKey(state)
    if (state.status === 'stopped') states.delete(key)
    else states.set(key, state)
    for (const listener of stateListeners) listener(key)
    reconcile(key)
  })

  const stopWatchingDrift = runtime.watchDrift?.((objectKey) => {
    const key = toObjectKey(objectKey)
    if (!applied.has(key)) return
    drifted.add(key)
    reconcile(key)
  })

  function onRecord(key: string, now: ServiceRecord | undefined): void {
    const before = records.get(key)
    if (now === undefined) records.delete(key)
    else records.set(key, now)
    for (const listener of listeners) listener(now, before)
    if (now === undefined && before !== undefined && isActing() && applied.has(key))
      // Only the record was deleted.
      remove({ ...before, deleting: true }).catch((error: unknown) =>
        log.warn({ service: before.name, reason: toMessage(error) }, 'cannot stop service'),
      )
    reconcile(key)
  }

  return {
    records,
    deployment: deployments.get,

    async begin() {
      watched = await watchRecords({
        ...{ store, table: RUNTIME_TABLE, prefix: OBJECTS_PREFIX },
        onError: (error) => log.warn({ reason: toMessage(error) }, 'cannot read services'),
        onRecords(changed, isAll) {
          const deletedKeys = isAll ? [...records.keys()].filter((key) => !changed.has(key)) : []
          for (const key of deletedKeys) onRecord(key, undefined)
          for (const [key, record] of changed)
            try {
              onRecord(key, record && parseServiceRecord(record))
            } catch (error) {
              log.warn({ reason: toMessage(error) }, 'cannot read service')
            }
        },
      })
      timer = setInterval(() => {
        for (const key of records.keys()) reconcile(key)
      }, everyMs).unref()
    },

    resume() {
      for (const key of records.keys()) reconcile(key)
    },

    async pause() {
      applied.clear()
      drifted.clear()
      await deployments.close()
    },

    async refresh() {
      await watched?.refresh()
    },

    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    close() {
      closing ??= (async () => {
        clearInterval(timer)
        watched?.close()
        await deployments.close()
        await Promise.allSettled(reconciling.values())
        stopWatching()
        stopWatchingDrift?.()
        await runtime.close()
      })()
      return closing
    },
  }
}
