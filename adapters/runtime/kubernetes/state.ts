import type { RuntimeStatus, WorkloadState } from '../../../core/contracts/runtime.ts'
import { countFailures, findDeploymentFailure, findLastEnd, findObstacle } from './failure.ts'
import { type Deployment, isManaged, type Pod } from './objects.ts'

/** How a workload is, by its Deployment and all of its pods. */
export function toState(deployment: Deployment, pods: readonly Pod[]): WorkloadState {
  const living = pods.filter(({ isEnding }) => !isEnding)
  const wanted = living.filter((pod) => isManaged(deployment, pod))
  const ready = living.filter(({ readySinceMs }) => readySinceMs !== undefined)
  const old = ready.filter((pod) => !isManaged(deployment, pod))
  const error = findDeploymentFailure(deployment, wanted, old.length > 0)
  // The old revision serves until every copy of the new one is ready.
  const isSettled = deployment.settledMs !== undefined
  const revision = (isSettled ? undefined : old[0]?.revision) ?? deployment.revision
  const serving = ready.filter((pod) => pod.revision === revision)
  const startedMs = findStart(deployment, serving)
  const copies = living.filter((pod) => pod.revision === revision)
  const restarts = copies.reduce((sum, pod) => sum + pod.restarts, 0)
  const lastFailure = findLastEnd(copies)
  const waiting = error === undefined ? findObstacle(wanted) : undefined
  // Of a first revision every copy is waited for, unless it turns out that they do not all come.
  const isUp = isSettled || old.length > 0 || ready.length >= deployment.instances
  return {
    ...deployment.key,
    revision,
    status: toStatus(deployment, wanted, ready.length > 0 && (isUp || error !== undefined), error),
    ...(error !== undefined && { error }),
    ...(waiting !== undefined && { waiting }),
    ready: ready.length,
    ...(startedMs !== undefined && { startedMs }),
    retries: Math.max(0, ...wanted.map(countFailures)),
    ...(restarts > 0 && { restarts }),
    ...(lastFailure !== undefined && { lastFailure }),
  }
}

function toStatus(
  { isEnding }: Deployment,
  wanted: readonly Pod[],
  serves: boolean,
  error: string | undefined,
): RuntimeStatus {
  if (isEnding) return 'stopping'
  if (serves) return 'running'
  if (error !== undefined) return 'error'
  const isUnplaced =
    wanted.length > 0 && wanted.every(({ unscheduled }) => unscheduled !== undefined)
  return isUnplaced ? 'pending' : 'starting'
}

function findStart({ settledMs }: Deployment, serving: readonly Pod[]): number | undefined {
  if (serving.length === 0) return settledMs
  return Math.max(...serving.map(({ readySinceMs = 0 }) => readySinceMs))
}
