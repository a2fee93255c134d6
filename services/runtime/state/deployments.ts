import type { WorkloadState } from '../../../core/contracts/runtime.ts'
import { createFairQueue } from '../../../lib/async/fair-queue.ts'
import { removeFolder } from '../../../lib/process/sandbox/remove-folder.ts'
import type { ServiceLog } from '../../../sdk/log/service-log.ts'
import { type Folders, removeBuilds } from '../jobs/folders.ts'
import type { Prepare, RemoveBuild } from '../jobs/prepare.ts'
import { type Deployment, startDeployment, toMessage } from './deployment.ts'
import type { Objects } from './objects.ts'
import { type Revision, type ServiceRecord, toObjectKey } from './records.ts'

export interface DeploymentsOptions {
  readonly objects: Objects
  readonly folders: Folders
  readonly prepare: Prepare
  /** Deletes the folder of a build. @default {@link removeFolder} */
  readonly removeBuild?: RemoveBuild
  /**
   * Maximum number of concurrent builds. If it is two or more, one is reserved for other
   * namespaces.
   */
  readonly builds: number
  /** Applies a revision to the runtime. */
  readonly apply: (record: ServiceRecord, revision: Revision) => Promise<void>
  readonly states: (key: string, signal: AbortSignal) => AsyncIterable<WorkloadState | undefined>
  /** Merges the observed state into a record. */
  readonly withLive: (record: ServiceRecord) => ServiceRecord
  /** Called when the state of an object has changed. */
  readonly onChange: (key: string) => void
  readonly log: ServiceLog
}

/** Deployments in progress, at most one per object. */
export interface Deployments {
  readonly get: (key: string) => Deployment | undefined
  /** Starts the requested deployment of an object. Its result is written to the record. */
  readonly begin: (record: ServiceRecord) => void
  /**
   * Cancels the deployment of an object. Resolves once all its work has ended. If the deployment is already running by
   * then, it becomes the current revision.
   */
  readonly cancel: (key: string) => Promise<void>
  /** Stops all deployments. The next server starts them again. */
  readonly close: () => Promise<void>
}

export function createDeployments(options: DeploymentsOptions): Deployments {
  const { objects, folders, prepare, builds, apply, states, withLive, onChange, log } = options
  const { removeBuild = removeFolder } = options
  const queue = createFairQueue({
    slots: builds,
    leavesSlots: true,
    toError: (reason) => new Error(`the queue of builds is ${reason}`),
  })
  const running = new Map<
    string,
    { readonly deployment: Deployment; readonly record: ServiceRecord }
  >()

  /**
   * Stores the result. If there is a newer request, only a serving revision is stored, not a
   * failure.
   */
  async function settle(
    record: ServiceRecord,
    outcome: { readonly current: Revision } | { readonly failure: string },
  ): Promise<void> {
    const before = record.current
    const serving = {
      ...('current' in outcome && outcome),
      ...('current' in outcome && before !== undefined && { previous: before }),
    }
    await objects.change(record, (now) => {
      if (now.asked.id !== record.asked.id)
        return 'current' in outcome ? { ...now, ...serving } : now
      const { failure: _, ...rest } = now
      const isFirstFailure = 'failure' in outcome && before === undefined
      return withLive({
        ...{ ...rest, ...serving, settled: now.asked.id },
        ...('failure' in outcome && outcome),
        ...(isFirstFailure && { status: 'error' }),
      })
    })
  }

  async function end(record: ServiceRecord, { done }: Deployment): Promise<void> {
    const key = toObjectKey(record)
    const isReplaced = (): boolean => running.get(key)?.record !== record
    try {
      const current = await done
      if (isReplaced()) return
      await settle(record, { current })
    } catch (error) {
      if (isReplaced()) return
      const failure = toMessage(error)
      log.info({ service: record.name, reason: failure }, 'deployment failed')
      await settle(record, { failure })
      await removeBuild(folders.build(record, record.asked.id))
    }
    // A newer deployment may have started.
    if (!isReplaced()) running.delete(key)
    onChange(key)
    await tidy(record)
  }

  /** Deletes builds that are no longer used. */
  async function tidy(record: ServiceRecord): Promise<void> {
    await removeUpload(record, await objects.read(record))
    const findRetained = async () => {
      const now = await objects.read(record)
      // A newer request may have started.
      const builds = [now?.current?.build, now?.previous?.build, now?.asked.id, record.asked.id]
      return new Set(builds.flatMap((build) => build ?? []))
    }
    await removeBuilds(folders, record, findRetained, (folder) =>
      // An older instance may still write to the folder. The rest is deleted together with the
      // object.
      removeBuild(folder).catch(() => {}),
    )
  }

  /** Deletes the upload unless it is the only source for the next update. */
  async function removeUpload(
    { asked: { upload } }: ServiceRecord,
    now: ServiceRecord | undefined,
  ): Promise<void> {
    const isNeeded =
      now?.deleting === false && now.current === undefined && now.asked.upload === upload
    if (upload !== '' && !isNeeded) await removeFolder(folders.upload(upload))
  }

  return {
    get: (key) => running.get(key)?.deployment,

    begin(record) {
      const key = toObjectKey(record)
      const deployment = startDeployment({
        ...{ record, folders, prepare },
        acquireSlot: (signal) => queue.acquire(record.namespace, { signal }),
        apply: (revision) => apply(record, revision),
        states: (signal) => states(key, signal),
        onPhase: () => onChange(key),
      })
      running.set(key, { deployment, record })
      end(record, deployment).catch((error: unknown) => {
        // The deployment will be started again.
        if (running.get(key)?.record === record) running.delete(key)
        const reason = toMessage(error)
        log.warn({ service: record.name, reason }, 'cannot store deployment result')
      })
    },

    async cancel(key) {
      const entry = running.get(key)
      if (entry === undefined) return
      running.delete(key)
      const { deployment, record } = entry
      await deployment.stop()
      const current = await deployment.done.catch(() => undefined)
      if (current !== undefined) await settle(record, { current })
      // Instances of the stopped deployment may still be running. The next deployment deletes the
      // build.
      await removeUpload(record, await objects.read(record))
    },

    async close() {
      const stopped = [...running.values()].map(({ deployment }) => deployment.stop())
      running.clear()
      await Promise.allSettled(stopped)
    },
  }
}
