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
  /** At a time; a namespace leaves one to others, where there are two or more. */
  readonly builds: number
  /** Gives a revision to the runtime. */
  readonly apply: (record: ServiceRecord, revision: Revision) => Promise<void>
  readonly states: (key: string, signal: AbortSignal) => AsyncIterable<WorkloadState | undefined>
  /** A record as things are now. */
  readonly withLive: (record: ServiceRecord) => ServiceRecord
  /** Told when there is something new of an object. */
  readonly onChange: (key: string) => void
  readonly log: ServiceLog
}

/** What is on its way, one for an object. */
export interface Deployments {
  readonly get: (key: string) => Deployment | undefined
  /** Begins what an object was asked for; what becomes of it is written into its record. */
  readonly begin: (record: ServiceRecord) => void
  /** Gives up what is on its way for an object; resolves once nothing of it goes on. One that came up by then is what serves. */
  readonly giveUp: (key: string) => Promise<void>
  /** Stops all of them, to be begun again by the next server. */
  readonly close: () => Promise<void>
}

export function createDeployments(options: DeploymentsOptions): Deployments {
  const { objects, folders, prepare, builds, apply, states, withLive, onChange, log } = options
  const { removeBuild = removeFolder } = options
  const queue = createFairQueue({
    places: builds,
    leavesRoom: true,
    toError: (reason) => new Error(`the queue of builds is ${reason}`),
  })
  const running = new Map<
    string,
    { readonly deployment: Deployment; readonly record: ServiceRecord }
  >()

  /** Writes down how it ended: where something else was asked for meanwhile, what serves until that does, and no failure. */
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
    const isOver = (): boolean => running.get(key)?.record !== record
    try {
      const current = await done
      if (isOver()) return
      await settle(record, { current })
    } catch (error) {
      if (isOver()) return
      const failure = toMessage(error)
      log.info({ service: record.name, reason: failure }, 'a deployment failed')
      await settle(record, { failure })
      await removeBuild(folders.build(record, record.asked.id))
    }
    // Another one may have begun meanwhile.
    if (!isOver()) running.delete(key)
    onChange(key)
    await tidy(record)
  }

  /** Removes files nobody needs any more. */
  async function tidy(record: ServiceRecord): Promise<void> {
    await removeUpload(record, await objects.read(record))
    const findKept = async () => {
      const now = await objects.read(record)
      // What was asked for meanwhile may have begun.
      const builds = [now?.current?.build, now?.previous?.build, now?.asked.id, record.asked.id]
      return new Set(builds.flatMap((build) => build ?? []))
    }
    await removeBuilds(folders, record, findKept, (folder) =>
      // An older instance may be writing to it: what it adds is removed with the object.
      removeBuild(folder).catch(() => {}),
    )
  }

  /** Removes what was uploaded, unless it is all the source there is for the next update. */
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
        turn: (signal) => queue.acquire(record.namespace, { signal }),
        apply: (revision) => apply(record, revision),
        states: (signal) => states(key, signal),
        onPhase: () => onChange(key),
      })
      running.set(key, { deployment, record })
      end(record, deployment).catch((error: unknown) => {
        // It is begun once more.
        if (running.get(key)?.record === record) running.delete(key)
        const reason = toMessage(error)
        log.warn({ service: record.name, reason }, 'what became of a deployment cannot be kept')
      })
    },

    async giveUp(key) {
      const found = running.get(key)
      if (found === undefined) return
      running.delete(key)
      const { deployment, record } = found
      await deployment.stop()
      const current = await deployment.done.catch(() => undefined)
      if (current !== undefined) await settle(record, { current })
      // Its copies may be there still: its build goes with those that the next one has no use for.
      await removeUpload(record, await objects.read(record))
    },

    async close() {
      const stopped = [...running.values()].map(({ deployment }) => deployment.stop())
      running.clear()
      await Promise.allSettled(stopped)
    },
  }
}
