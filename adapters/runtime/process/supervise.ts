import type { RuntimeStatus, Workload, WorkloadState } from '../../../core/contracts/runtime.ts'
import { type RunningRevision, runRevision } from './run-revision.ts'
import type { RuntimeContext } from './runtime-context.ts'

/** A workload that is kept running. */
export interface Supervised {
  /** Takes another revision in; the same one once more: what was given up starts again. */
  readonly apply: (workload: Workload) => void
  readonly state: () => WorkloadState
  /** Done once no copy runs. */
  readonly stop: () => Promise<void>
}

/**
 * Runs a workload, and replaces its revision by those that are applied: a new one comes up beside the one that serves, and takes
 * its place once all its copies are ready. Where it does not come up, it is gone again, and the old one never noticed.
 *
 * @param onChange the state may have changed.
 */
export function supervise(
  workload: Workload,
  onChange: () => void,
  world: RuntimeContext,
): Supervised {
  /** Those that end. */
  const ends = new Set<Promise<void>>()
  let current = runRevision({ workload, isNext: false }, change, world)
  let next: RunningRevision | undefined
  /** Why the last revision that was asked for did not come up. */
  let refusal: string | undefined
  let startedMs: number | undefined
  let wasRunning = false
  let isStopping = false

  function toStatus(): RuntimeStatus {
    if (isStopping) return 'stopping'
    const { ready, wasComplete, isGivenUp } = current.view()
    if (ready > 0 && (wasComplete || isGivenUp)) return 'running'
    return isGivenUp ? 'error' : 'starting'
  }

  function change(): void {
    const isRunning = toStatus() === 'running'
    if (isRunning && !wasRunning) startedMs = Date.now()
    wasRunning = isRunning
    onChange()
  }

  function end(revision: RunningRevision): Promise<void> {
    const ended = revision.stop().finally(() => ends.delete(ended))
    ends.add(ended)
    return ended
  }

  async function replace(wanted: Workload): Promise<void> {
    const candidate = runRevision({ workload: wanted, isNext: true }, change, world)
    next = candidate
    const hasCome = await candidate.settled
    // Another one was asked for meanwhile, or none.
    if (next !== candidate) return
    next = undefined
    const loser = hasCome ? current : candidate
    if (hasCome) {
      current = candidate
      startedMs = Date.now()
    } else {
      refusal = candidate.view().error
    }
    change()
    await end(loser)
  }

  return {
    apply(wanted) {
      refusal = undefined
      if (next?.workload.revision !== wanted.revision) {
        if (next !== undefined) void end(next)
        next = undefined
        if (current.workload.revision === wanted.revision) {
          current.retry()
        } else if (current.view().ready > 0 && !isSamePort(current.workload, wanted)) {
          void replace(wanted)
        } else {
          // Nothing serves that could go on meanwhile: the old one ends first, and leaves its port and memory.
          const after = end(current)
          current = runRevision({ workload: wanted, isNext: false, after }, change, world)
        }
      }
      change()
    },
    state() {
      const { workload, view } = current
      const { namespace, name, version, revision } = workload
      const { ready, retries, error, restarts, lastFailure } = view()
      // How the old one fails is no news of the one that was asked for.
      const why = next === undefined ? (refusal ?? error) : undefined
      return {
        namespace,
        name,
        version,
        revision,
        status: toStatus(),
        ready,
        retries,
        ...(restarts > 0 && { restarts }),
        ...(lastFailure !== undefined && { lastFailure }),
        ...(why !== undefined && { error: why }),
        ...(startedMs !== undefined && { startedMs }),
      }
    },
    async stop() {
      isStopping = true
      change()
      if (next !== undefined) void end(next)
      next = undefined
      void end(current)
      await Promise.all(ends)
    },
  }
}

/** Whether copies of both cannot stand side by side. */
function isSamePort(one: Workload, other: Workload): boolean {
  return one.port !== undefined && one.port === other.port
}
