import type { Runtime, Workload, WorkloadState } from '../../core/contracts/runtime.ts'
import type { Store } from '../../core/store/store.ts'
import { type WatchedRecords, watchRecords } from '../../core/store/watch-records.ts'
import { createEventFeed } from '../../sdk/event-feed.ts'
import type { ServiceLog } from '../../sdk/service-log.ts'
import { type Deployment, startDeployment, toMessage } from './deployment.ts'
import { type Folders, removeBuilds, removeFolder } from './folders.ts'
import { withLive } from './live.ts'
import type { Objects } from './objects.ts'
import type { Prepare } from './prepare.ts'
import {
  OBJECTS_PREFIX,
  parseServiceRecord,
  type Revision,
  type ServiceRecord,
  TABLE,
  toObjectKey,
} from './records.ts'
import { createTurns } from './turns.ts'

export interface ReconcilerOptions {
  readonly store: Store
  readonly objects: Objects
  readonly runtime: Runtime
  /** Id of this server: it runs the objects that name it. */
  readonly server: string
  readonly folders: Folders
  readonly prepare: Prepare
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
  const { store, objects, runtime, server, folders, prepare, toWorkload, cleanUp } = options
  const { log, builds, everyMs, nowMs } = options
  const turns = createTurns(builds)
  const records = new Map<string, ServiceRecord>()
  const deployments = new Map<string, Deployment>()
  const states = new Map<string, WorkloadState>()
  /** Ids of the revisions the runtime was given last. */
  const applied = new Map<string, string>()
  const looking = new Map<string, Promise<void>>()
  const again = new Set<string>()
  const listeners = new Set<RecordListener>()
  const stateListeners = new Set<(key: string) => void>()
  let watched: WatchedRecords | undefined
  let timer: NodeJS.Timeout | undefined
  let closing: Promise<void> | undefined

  /** Looks after an object, once what is done for it now is done. */
  function look(key: string): void {
    if (closing !== undefined) return
    again.add(key)
    if (!looking.has(key)) looking.set(key, lookOften(key))
  }

  async function lookOften(key: string): Promise<void> {
    while (again.delete(key) && closing === undefined) {
      try {
        await settle(key)
      } catch (error) {
        const service = records.get(key)?.name ?? key
        log.warn({ service, reason: toMessage(error) }, 'a service is not as it should be yet')
      }
    }
    looking.delete(key)
  }

  async function settle(key: string): Promise<void> {
    const record = records.get(key)
    if (record === undefined || record.server !== server) return
    if (record.deleting) return remove(record)
    const { asked, settled, current, status } = record
    const deployment = deployments.get(key)
    const isUnderWay = asked.id !== settled
    const isNew = isUnderWay && deployment?.asked !== asked.id
    if (isNew) await deployment?.stop()
    const isWanted = current !== undefined && status !== 'error'
    if (isWanted && (isUnderWay ? !applied.has(key) : applied.get(key) !== current.id))
      await apply(record, current)
    if (isNew) deploy(record)
    await keep(key)
  }

  async function apply(record: ServiceRecord, revision: Revision): Promise<Workload> {
    const key = toObjectKey(record)
    const workload = await toWorkload(record, revision)
    applied.set(key, revision.id)
    await runtime.apply(workload)
    for (const state of await runtime.read()) states.set(toObjectKey(state), state)
    return workload
  }

  function deploy(record: ServiceRecord): void {
    const key = toObjectKey(record)
    const deployment = startDeployment({
      ...{ record, folders, prepare, turn: turns.take },
      apply: (revision) => apply(record, revision),
      states: (signal) => statesOf(key, signal),
      onPhase: () => look(key),
    })
    deployments.set(key, deployment)
    const end = async (change: (record: ServiceRecord) => ServiceRecord): Promise<void> => {
      if (deployments.get(key) !== deployment) return
      await objects.change(record, (now) => {
        if (now.asked.id !== deployment.asked) return now
        const { failure: _, ...rest } = now
        return withLive(change({ ...rest, settled: now.asked.id }), toLive(key, undefined))
      })
      deployments.delete(key)
      look(key)
    }
    /** Files nobody needs any more. */
    const tidy = async (): Promise<void> => {
      const { upload, id } = record.asked
      if (upload !== '') await removeFolder(folders.upload(upload))
      const { current, previous } = (await objects.read(record)) ?? {}
      const builds = [current?.build, previous?.build, id].flatMap((build) => build ?? [])
      await removeBuilds(folders, record, new Set(builds))
      if (current?.build !== id && applied.get(key) !== id)
        await removeFolder(folders.build(record, id))
    }
    deployment.done
      .then(
        (current) =>
          end(({ current: previous, ...rest }) => ({
            ...rest,
            current,
            ...(previous !== undefined && { previous }),
          })),
        async (error) => {
          if (deployments.get(key) !== deployment || closing !== undefined) return
          log.info({ service: record.name, reason: toMessage(error) }, 'a deployment failed')
          await end((now) => ({
            ...now,
            failure: toMessage(error),
            ...(now.current === undefined && { status: 'error' }),
          }))
        },
      )
      .then(tidy)
      .catch((error: unknown) => {
        // It is begun once more.
        deployments.delete(key)
        log.warn({ service: record.name, reason: toMessage(error) }, 'its state cannot be kept')
      })
  }

  async function remove(record: ServiceRecord): Promise<void> {
    const key = toObjectKey(record)
    const deployment = deployments.get(key)
    deployments.delete(key)
    await deployment?.stop()
    await runtime.remove(record)
    applied.delete(key)
    states.delete(key)
    await cleanUp(record)
    await objects.change(record, (now) => (now.deleting ? undefined : now))
  }

  const toLive = (key: string, deployment = deployments.get(key)) => ({
    ...{ deployment, state: states.get(key), nowMs: nowMs() },
  })

  /** Writes down how an object is. */
  async function keep(key: string): Promise<void> {
    const record = records.get(key)
    if (record === undefined || withLive(record, toLive(key)) === record) return
    await objects.change(record, (now) => withLive(now, toLive(key)))
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
    try {
      yield states.get(key)
      yield* feed
    } finally {
      signal.removeEventListener('abort', end)
      end()
    }
  }

  const stopWatching = runtime.watch((state) => {
    const key = toObjectKey(state)
    if (state.status === 'stopped') states.delete(key)
    else states.set(key, state)
    for (const listener of stateListeners) listener(key)
    look(key)
  })

  function notice(key: string, now: ServiceRecord | undefined): void {
    const before = records.get(key)
    if (now === undefined) records.delete(key)
    else records.set(key, now)
    for (const listener of listeners) listener(now, before)
    if (now === undefined && before?.server === server && applied.has(key))
      // Somebody removed the record alone.
      remove({ ...before, deleting: true }).catch((error: unknown) =>
        log.warn({ service: before.name, reason: toMessage(error) }, 'it could not be ended'),
      )
    look(key)
  }

  return {
    records,
    deployment: (key) => deployments.get(key),

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
        const stopped = [...deployments.values()].map((deployment) => deployment.stop())
        await Promise.allSettled([...stopped, ...looking.values()])
        stopWatching()
        await runtime.close()
      })()
      return closing
    },
  }
}
