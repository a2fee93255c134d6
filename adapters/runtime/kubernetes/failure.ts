import { PROGRESS_SECONDS } from './manifests.ts'
import type { Deployment, Ended, Pod } from './objects.ts'

/**
 * Consecutive failures after which an instance is in the error state (reference 15.24). The limit
 * is lower while an old revision serves requests.
 */
const MAX_FAILURES = 5
const MAX_FAILURES_BESIDE_OLD = 2
/** Uptime in milliseconds after which the failure count restarts at one, as in Kubernetes. */
const STABLE_MS = 600_000
const MAX_LINE = 500
/** Waiting reasons that persist until the workload is changed. */
const UNSTARTABLE: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
])

/** Returns the number of consecutive failures of an instance. */
export function countFailures(pod: Pod): number {
  if (pod.readySinceMs !== undefined || pod.ended === undefined) return 0
  if (pod.ended.ranMs >= STABLE_MS) return 1
  return pod.isRunning ? pod.restarts : pod.restarts + 1
}

/** Describes the latest exit recorded in the cluster. */
export function findLastEnd(pods: readonly Pod[]): string | undefined {
  const ended = pods.find((pod) => pod.ended !== undefined)?.ended
  return ended && describeEnd(ended)
}

/**
 * Returns the reason for a permanent failure, or undefined while the instance may still become
 * ready.
 */
function findFailure(pod: Pod, maxFailures: number): string | undefined {
  if (pod.readySinceMs !== undefined) return undefined
  const { waiting } = pod
  if (waiting !== undefined && UNSTARTABLE.has(waiting.reason)) return toText(waiting)
  return countFailures(pod) >= maxFailures ? describe(pod) : undefined
}

/**
 * Returns the reason why the current revision failed, or undefined while it may still become ready.
 *
 * @param pods pods of the revision.
 * @param isBesideOld whether an older revision is serving requests.
 */
export function findDeploymentFailure(
  { isLate, failure }: Deployment,
  pods: readonly Pod[],
  isBesideOld: boolean,
): string | undefined {
  const maxFailures = isBesideOld ? MAX_FAILURES_BESIDE_OLD : MAX_FAILURES
  for (const pod of pods) {
    const found = findFailure(pod, maxFailures)
    if (found !== undefined) return found
  }
  if (failure !== undefined) return failure
  if (!isLate) return undefined
  const pod = pods.find(({ readySinceMs }) => readySinceMs === undefined)
  const detail = pod && describe(pod)
  return `not ready within ${PROGRESS_SECONDS} s${detail ? `: ${detail}` : ''}`
}

/** Returns the reason why a pod cannot be scheduled. */
export function findObstacle(pods: readonly Pod[]): string | undefined {
  const reason = pods.find(({ unscheduled }) => unscheduled !== undefined)?.unscheduled
  return reason === undefined ? undefined : describeUnscheduled(reason)
}

function describeUnscheduled(reason: string): string {
  return `no node can run it: ${reason}`
}

/** Describes the state of a pod that is not ready. */
function describe({ waiting, unscheduled, ended, isRunning }: Pod): string {
  if (ended !== undefined) return `${waiting?.reason || 'CrashLoopBackOff'}: ${describeEnd(ended)}`
  if (waiting !== undefined) return toText(waiting)
  if (unscheduled !== undefined) return describeUnscheduled(unscheduled)
  return isRunning ? 'not listening on its port' : ''
}

function describeEnd({ reason, exitCode, message }: Ended): string {
  const line = message.trimEnd().split('\n').at(-1)?.trim().slice(0, MAX_LINE)
  const label = reason === '' || reason === 'Error' || reason === 'Completed' ? '' : `${reason}, `
  return `${label}exit code ${exitCode}${line ? `: ${line}` : ''}`
}

function toText({ reason, message }: { reason: string; message: string }): string {
  return message === '' ? reason : `${reason}: ${message.slice(0, MAX_LINE)}`
}
