import type { RuntimeStatus, Workload, WorkloadState } from '../../../core/contracts/runtime.ts'
import { type RunningRevision, runRevision } from './run-revision.ts'
import type { RuntimeContext } from './runtime-context.ts'

/** A supervised workload. */
export interface Supervised {
  /** Applies a revision. Applying the current revision restarts instances that were given up. */
  readonly apply: (workload: Workload) => void
  readonly state: () => WorkloadState
  /** Resolves when no instance runs. */
  readonly stop: () => Promise<void>
}

/**
 * Runs a workload and replaces its revision when another is applied. A new revision starts beside
 * the serving one and replaces it when all its instances are ready. If the new revision fails, it
 * is removed and the old one continues.
 *
 * @param onChange called when the state may have changed.
 */
export function supervise(
  workload: Workload,
  onChange: () => void,
  context: RuntimeContext,
): Supervised {
  /** Promises of revisions that are stopping. */
  const pendingStops = new Set<Promise<void>>()
  let current = runRevision({ workload, isNext: false }, change, context)
  let next: RunningRevision | undefined
  /** Reason why the last applied revision failed. */
  let rejection: string | undefined
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
    const ended = revision.stop().finally(() => pendingStops.delete(ended))
    pendingStops.add(ended)
    return ended
  }

  async function replace(desired: Workload): Promise<void> {
    const candidate = runRevision({ workload: desired, isNext: true }, change, context)
    next = candidate
    const isComplete = await candidate.settled
    // Another revision was applied in the meantime, or the workload was stopped.
    if (next !== candidate) return
    next = undefined
    const ending = isComplete ? current : candidate
    if (isComplete) {
      current = candidate
      startedMs = Date.now()
    } else {
      rejection = candidate.view().error
    }
    change()
    await end(ending)
  }

  return {
    apply(desired) {
      rejection = undefined
      if (next?.workload.revision !== desired.revision) {
        if (next !== undefined) void end(next)
        next = undefined
        if (current.workload.revision === desired.revision) {
          current.retry()
        } else if (current.view().ready > 0 && !isSamePort(current.workload, desired)) {
          void replace(desired)
        } else {
          // No instance is serving requests, so the old revision stops first and releases its port
          // and memory.
          const after = end(current)
          current = runRevision(
            { workload: desired, isNext: false, startAfter: after },
            change,
            context,
          )
        }
      }
      change()
    },
    state() {
      const { workload, view } = current
      const { namespace, name, version, revision } = workload
      const { ready, retries, error, restarts, lastFailure } = view()
      // A failure of the old revision does not affect the state of the applied revision.
      const reason = next === undefined ? (rejection ?? error) : undefined
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
        ...(reason !== undefined && { error: reason }),
        ...(startedMs !== undefined && { startedMs }),
      }
    },
    async stop() {
      isStopping = true
      change()
      if (next !== undefined) void end(next)
      next = undefined
      void end(current)
      await Promise.all(pendingStops)
    },
  }
}

/**
 * Returns whether instances of both workloads cannot run simultaneously because they share a port.
 */
function isSamePort(a: Workload, b: Workload): boolean {
  return a.port !== undefined && a.port === b.port
}
