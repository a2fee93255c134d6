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
  type ServiceRecord,
  TABLE,
  toObjectKey,
} from './state/records.ts'

export interface ReconcilerOptions {
  readonly store: Store
  readonly objects: Objects
  readonly runtime: Runtime
  /** Whether this server may act on an object. */
  readonly owns: (record: ServiceRecord) => boolean
  /** Whether it acts now: false while another server does. */
  readonly isActing: () => boolean
  readonly folders: Folders
  readonly prepare: Prepare
  /** As of {@link createDeployments}. */
  readonly removeBuild?: RemoveBuild
  readonly toWorkload: (record: ServiceRecord, revision: Revision) => Promise<Workload>
  /** Removes what is left of an object that is gone: files, accounts. */
  readonly cleanUp: (record: ServiceRecord) => Promise<void>
  readonly log: ServiceLog
  /** Builds at a time. */
  readonly builds: number
  /** Milliseconds between two looks at everything. */
  readonly everyMs: number
  readonly nowMs: () => number
}

/** Has the objects of this server run as their records say, whoever changes those. */
export interface Reconciler {
  /** Reads all there is; what it finds runs from then on. @throws {GatewayError} 503 when the store cannot be reached. */
  readonly begin: () => Promise<void>
  /** Acts on everything from now on: another server may have changed it since. */
  readonly resume: () => void
  /** Stops what is in progress, which the server that acts from now on begins again. */
  readonly pause: () => Promise<void>
  /** Resolves once everything that was changed before has been noticed. */
  readonly refresh: () => Promise<void>
  /** Records of all servers, by their keys. */
  readonly records: ReadonlyMap<string, ServiceRecord>
  /** What is on its way for an object of this server. */
  readonly deployment: (key: string) => Deployment | undefined
  /** Calls `listener` with each record that changes, and what it was; until the function that is returned is called. */
  readonly watch: (listener: RecordListener) => () => void
  /** Ends everything that runs here, and whatever is on its way; it is taken up at the next start. */
  readonly close: () => Promise<void>
}

/** `now` undefined: it is gone. */
export type RecordListener = (
  now: ServiceRecord | undefined,
  before: ServiceRecord | undefined,
) => void

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { store, objects, runtime, folders, prepare, toWorkload, cleanUp } = options
  const { owns, isActing, log, builds, everyMs, nowMs } = options
  const records = new Map<string, ServiceRecord>()
  const states = new Map<string, WorkloadState>()
  /** The revisions the runtime was given last. */
  const applied = new Map<string, Revision>()
  /** Those of `applied` that are not in the runtime as they were given. */
  const drifted = new Set<string>()
  /** Why objects are not as they should be. */
  const troubles = new Map<string, string>()
  const looking = new Map<string, Promise<void>>()
  const again = new Set<string>()
  const listeners = new Set<RecordListener>()
  const stateListeners = new Set<(key: string) => void>()
  let watched: WatchedRecords | undefined
  let timer: NodeJS.Timeout | undefined
  let closing: Promise<void> | undefined

  /** Looks after an object, once what is done for it now is done. */
  function look(key: string): void {
    if (closing !== undefined || !isActing()) return
    again.add(key)
    if (!looking.has(key)) looking.set(key, lookOften(key))
  }

  async function lookOften(key: string): Promise<void> {
    while (again.delete(key) && closing === undefined && isActing()) {
      try {
        await settle(key)
        troubles.delete(key)
      } catch (error) {
        const reason = toMessage(error)
        const service = records.get(key)?.name ?? key
        if (troubles.get(key) !== reason)
          log.warn({ service, reason }, 'a service is not as it should be; it is tried again')
        troubles.set(key, reason)
      }
    }
    looking.delete(key)
  }

  async function settle(key: string): Promise<void> {
    const record = records.get(key)
    if (record === undefined || !owns(record)) return
    if (record.deleting) return remove(record)
    const { asked, settled, current } = record
    const last = drifted.has(key) ? applied.get(key) : undefined
    if (last !== undefined) await restore(record, last)
    const isUnderWay = asked.id !== settled
    if (isUnderWay && deployments.get(key)?.asked !== asked.id) {
      await deployments.giveUp(key)
      // What was given up may have come up just then, and what is known of the store be behind: what is settled is not built again.
      const now = await objects.read(record)
      if (now?.deleting === false && now.asked.id !== now.settled) await begin(now)
    } else if (current !== undefined) {
      if (isUnderWay ? !applied.has(key) : applied.get(key)?.id !== current.id)
        await applyCurrent(record, current)
    }
    await keep(key)
  }

  /** Begins what is asked for; what is to serve until then does. */
  async function begin(record: ServiceRecord): Promise<void> {
    const { current } = record
    const given = applied.get(toObjectKey(record))?.id
    if (current === undefined) {
      if (given !== undefined) await end(record)
    } else if (given !== current.id) {
      // What is asked for may be what mends it.
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
    log.info({ service: record.name }, 'restored a service that was changed from outside')
  }

  /** What serves, or has to again; why it cannot is told by its state. */
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
    await deployments.giveUp(key)
    await end(record)
    await cleanUp(record)
    await objects.change(record, (now) => (now.deleting ? undefined : now))
  }

  function withState(record: ServiceRecord): ServiceRecord {
    const key = toObjectKey(record)
    const [deployment, state] = [deployments.get(key), states.get(key)]
    return withLive(record, { deployment, state, nowMs: nowMs() })
  }

  /** Writes down how an object is. */
  async function keep(key: string): Promise<void> {
    const record = records.get(key)
    if (record === undefined || withState(record) === record) return
    await objects.change(record, withState)
  }

  async function* statesOf(key: string, signal: AbortSignal) {
    const feed = createEventFeed<WorkloadState | undefined>({
      ...{ id: 'runtime', maxWaiting: 1 },
      onClose: () => stateListeners.delete(tell),
    })
    const tell = (changed: string): void => {
      if (changed === key) feed.push(key, states.get(key))
    }
    const end = (): void => void feed.return!()
    stateListeners.add(tell)
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
    ...{ states: statesOf, withLive: withState, onChange: look },
  })

  const stopWatching = runtime.watch((state) => {
    const key = toObjectKey(state)
    if (state.status === 'stopped') states.delete(key)
    else states.set(key, state)
    for (const listener of stateListeners) listener(key)
    look(key)
  })

  const stopWatchingDrift = runtime.watchDrift?.((place) => {
    const key = toObjectKey(place)
    if (!applied.has(key)) return
    drifted.add(key)
    look(key)
  })

  function notice(key: string, now: ServiceRecord | undefined): void {
    const before = records.get(key)
    if (now === undefined) records.delete(key)
    else records.set(key, now)
    for (const listener of listeners) listener(now, before)
    if (now === undefined && before !== undefined && isActing() && applied.has(key))
      // Somebody removed the record alone.
      remove({ ...before, deleting: true }).catch((error: unknown) =>
        log.warn({ service: before.name, reason: toMessage(error) }, 'it could not be ended'),
      )
    look(key)
  }

  return {
    records,
    deployment: deployments.get,

    async begin() {
      watched = await watchRecords({
        ...{ store, table: TABLE, prefix: OBJECTS_PREFIX },
        onError: (error) => log.warn({ reason: toMessage(error) }, 'services cannot be read'),
        onRecords(changed, isAll) {
          const gone = isAll ? [...records.keys()].filter((key) => !changed.has(key)) : []
          for (const key of gone) notice(key, undefined)
          for (const [key, record] of changed)
            try {
              notice(key, record && parseServiceRecord(record))
            } catch (error) {
              log.warn({ reason: toMessage(error) }, 'a service cannot be read')
            }
        },
      })
      timer = setInterval(() => {
        for (const key of records.keys()) look(key)
      }, everyMs).unref()
    },

    resume() {
      for (const key of records.keys()) look(key)
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
        await Promise.allSettled(looking.values())
        stopWatching()
        stopWatchingDrift?.()
        await runtime.close()
      })()
      return closing
    },
  }
}
