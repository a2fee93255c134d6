import { PROGRESS_SECONDS } from './manifests.ts'
import type { Deployment, Ended, Pod } from './objects.ts'

/** Failures in a row after which a copy is in error (reference 15.24); while an old revision serves, the new one is given up earlier. */
const MAX_FAILURES = 5
const MAX_FAILURES_BESIDE_OLD = 2
/** Milliseconds a copy must have run for its end to be the first in a row: so long Kubernetes itself remembers. */
const STEADY_MS = 600_000
const MAX_LINE = 500
/** Reasons for which a container does not start and will not as it is. */
const UNSTARTABLE: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
])

/** Times a copy ended in a row. */
export function countFailures(pod: Pod): number {
  if (pod.readySinceMs !== undefined || pod.ended === undefined) return 0
  if (pod.ended.ranMs >= STEADY_MS) return 1
  return pod.isRunning ? pod.restarts : pod.restarts + 1
}

/** How one of these ended, as far as the cluster remembers; undefined: none did. */
export function findLastEnd(pods: readonly Pod[]): string | undefined {
  const ended = pods.find((pod) => pod.ended !== undefined)?.ended
  return ended && describeEnd(ended)
}

/** Why a copy is given up on; undefined: it may still come up. */
function findFailure(pod: Pod, maxFailures: number): string | undefined {
  if (pod.readySinceMs !== undefined) return undefined
  const { waiting } = pod
  if (waiting !== undefined && UNSTARTABLE.has(waiting.reason)) return toText(waiting)
  return countFailures(pod) >= maxFailures ? describe(pod) : undefined
}

/**
 * Why the revision that is wanted does not come up; undefined: it may yet.
 *
 * @param pods its copies.
 * @param isBesideOld whether an older one serves.
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
  const why = pod && describe(pod)
  return `not ready within ${PROGRESS_SECONDS} s${why ? `: ${why}` : ''}`
}

/** Why one of these copies is on no node; undefined: each is. */
export function findObstacle(pods: readonly Pod[]): string | undefined {
  const reason = pods.find(({ unscheduled }) => unscheduled !== undefined)?.unscheduled
  return reason === undefined ? undefined : describeUnscheduled(reason)
}

function describeUnscheduled(reason: string): string {
  return `no node takes it: ${reason}`
}

/** How a copy is that is not ready. */
function describe({ waiting, unscheduled, ended, isRunning }: Pod): string {
  if (ended !== undefined) return `${waiting?.reason || 'CrashLoopBackOff'}: ${describeEnd(ended)}`
  if (waiting !== undefined) return toText(waiting)
  if (unscheduled !== undefined) return describeUnscheduled(unscheduled)
  return isRunning ? 'it does not listen on its port' : ''
}

function describeEnd({ reason, exitCode, message }: Ended): string {
  const line = message.trimEnd().split('\n').at(-1)?.trim().slice(0, MAX_LINE)
  const said = reason === '' || reason === 'Error' || reason === 'Completed' ? '' : `${reason}, `
  return `${said}exit code ${exitCode}${line ? `: ${line}` : ''}`
}

function toText({ reason, message }: { reason: string; message: string }): string {
  return message === '' ? reason : `${reason}: ${message.slice(0, MAX_LINE)}`
}
