import type { RuntimeStatus, WorkloadState } from '../../../core/contracts/runtime.ts'
import { countFailures, findDeploymentFailure, findLastEnd, findObstacle } from './failure.ts'
import { type Deployment, isManaged, type Pod } from './objects.ts'

export function toState(deployment: Deployment, pods: readonly Pod[]): WorkloadState {
  const active = pods.filter(({ isEnding }) => !isEnding)
  const current = active.filter((pod) => isManaged(deployment, pod))
  const ready = active.filter(({ readySinceMs }) => readySinceMs !== undefined)
  const old = ready.filter((pod) => !isManaged(deployment, pod))
  const error = findDeploymentFailure(deployment, current, old.length > 0)
  // The old revision serves requests until all instances of the new one are ready.
  const isSettled = deployment.settledMs !== undefined
  const revision = (isSettled ? undefined : old[0]?.revision) ?? deployment.revision
  const serving = ready.filter((pod) => pod.revision === revision)
  const startedMs = findStart(deployment, serving)
  const instances = active.filter((pod) => pod.revision === revision)
  const restarts = instances.reduce((sum, pod) => sum + pod.restarts, 0)
  const lastFailure = findLastEnd(instances)
  const waiting = error === undefined ? findObstacle(current) : undefined
  // A first revision counts as running when all instances are ready, or when some are ready and the
  // remaining instances have failed.
  const isUp = isSettled || old.length > 0 || ready.length >= deployment.instances
  return {
    ...deployment.key,
    revision,
    status: toStatus(deployment, current, ready.length > 0 && (isUp || error !== undefined), error),
    ...(error !== undefined && { error }),
    ...(waiting !== undefined && { waiting }),
    ready: ready.length,
    ...(startedMs !== undefined && { startedMs }),
    retries: Math.max(0, ...current.map(countFailures)),
    ...(restarts > 0 && { restarts }),
    ...(lastFailure !== undefined && { lastFailure }),
  }
}

function toStatus(
  { isEnding }: Deployment,
  current: readonly Pod[],
  serves: boolean,
  error: string | undefined,
): RuntimeStatus {
  if (isEnding) return 'stopping'
  if (serves) return 'running'
  if (error !== undefined) return 'error'
  const isUnscheduled =
    current.length > 0 && current.every(({ unscheduled }) => unscheduled !== undefined)
  return isUnscheduled ? 'pending' : 'starting'
}

function findStart({ settledMs }: Deployment, serving: readonly Pod[]): number | undefined {
  if (serving.length === 0) return settledMs
  return Math.max(...serving.map(({ readySinceMs = 0 }) => readySinceMs))
}
