import type { Workload, WorkloadKey } from '../../../core/contracts/runtime.ts'
import type { Resource } from '../../kubernetes/resource.ts'
import type { Calls } from './calls.ts'
import { GRACE_SECONDS, type PodSecurity, toDeployment, toSecret, toService } from './manifests.ts'
import { toId, WORKLOAD_LABEL } from './names.ts'
import { DEPLOYMENTS, type Space } from './space.ts'
import { toState } from './state.ts'

const SERVICES: Resource = { name: 'services', group: '' }
const SECRETS: Resource = { name: 'secrets', group: '' }

/** Milliseconds until the watch has told what was just written; it is away otherwise. */
const SEEN_MS = 5000
/** Milliseconds in which copies end, or their node is gone. */
const END_MS = (GRACE_SECONDS + 60) * 1000

/** A Kubernetes namespace: what is there, and how it is changed. */
export interface Place {
  readonly space: Space
  readonly calls: Calls
}

/**
 * Makes a workload be there as it is described; what comes of it is seen by watches.
 *
 * @throws {TypeError} when it cannot be described to Kubernetes. @throws {Error} with what the API server said.
 */
export async function deploy(
  { space, calls }: Place,
  workload: Workload,
  podSecurity: PodSecurity,
): Promise<void> {
  const id = toId(workload)
  await space.answer(() => {})
  // What is on its way out would take the new one along.
  if (space.findDeployment(id)?.isEnding) await undeploy({ space, calls }, workload)
  const attempt = chooseAttempt(space, id, workload.revision)
  const deployment = toDeployment(workload, { podSecurity, attempt })
  const secret = toSecret(workload)
  await calls.apply(SECRETS, secret)
  await calls.apply(SERVICES, toService(workload))
  const { generation = 0 } = (await calls.apply(DEPLOYMENTS, deployment)).metadata
  // What is read from now on is not what was before.
  await seen(space, id, SEEN_MS, () => (space.findDeployment(id)?.generation ?? 0) >= generation)
  const kept = new Set(space.listPods(id).map((pod) => pod.secret))
  await removeSecrets(calls, id, kept.add(secret.metadata?.name ?? ''))
}

/** Ends every copy, and leaves nothing of a workload. @throws {Error} when copies do not end. */
export async function undeploy({ space, calls }: Place, key: WorkloadKey): Promise<void> {
  const id = toId(key)
  await space.answer(() => {})
  await calls.remove(DEPLOYMENTS, id, 'Foreground')
  const isGone = (): boolean =>
    space.findDeployment(id) === undefined && space.listPods(id).length === 0
  if (!(await seen(space, id, END_MS, isGone))) {
    const names = space.listPods(id).map(({ name }) => name)
    throw new Error(
      `${key.name}@${key.version} does not end within ${END_MS / 1000} s: pods ${names.join(', ') || 'none'}`,
    )
  }
  // Until here gateways were told that the copies end.
  await calls.remove(SERVICES, id)
  await removeSecrets(calls, id, new Set())
}

/** Copies of a revision that failed are started anew by another attempt; any other one goes on as it is. */
function chooseAttempt(space: Space, id: string, revision: string): string | undefined {
  const deployment = space.findDeployment(id)
  const pods = space.listPods(id)
  if (deployment?.revision !== revision)
    return pods.find((pod) => pod.revision === revision && !pod.isEnding)?.attempt
  const isFailed = toState(deployment, pods).error !== undefined
  return isFailed ? new Date().toISOString() : deployment.attempt
}

async function removeSecrets(calls: Calls, id: string, kept: ReadonlySet<string>): Promise<void> {
  for (const { metadata } of await calls.list(SECRETS, `${WORKLOAD_LABEL}=${id}`))
    if (!kept.has(metadata.name)) await calls.remove(SECRETS, metadata.name)
}

/** Whether it holds before the time is over. */
function seen(space: Space, id: string, timeoutMs: number, holds: () => boolean): Promise<boolean> {
  if (holds()) return Promise.resolve(true)
  return new Promise((resolve) => {
    const settle = (held: boolean): void => {
      clearTimeout(timer)
      unwatch()
      resolve(held)
    }
    const timer = setTimeout(() => settle(false), timeoutMs)
    const unwatch = space.onChange(id, () => holds() && settle(true))
  })
}
