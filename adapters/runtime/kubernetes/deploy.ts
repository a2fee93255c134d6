import type { Workload, WorkloadKey } from '../../../core/contracts/runtime.ts'
import type { Calls } from './calls.ts'
import { type Drift, type Expected, SECRETS, SERVICES } from './drift.ts'
import {
  GRACE_SECONDS,
  type PodOptions,
  toDeployment,
  toSecret,
  toSecretNameOf,
  toService,
} from './manifests.ts'
import { toId } from './names.ts'
import { DEPLOYMENTS, type Space } from './namespace-state.ts'
import type { SecretPruner } from './prune-secrets.ts'
import { toState } from './state.ts'

/** Milliseconds until the watch has told what was just written; it is away otherwise. */
const SEEN_MS = 5000
/** Milliseconds in which copies end, or their node is gone. */
const END_MS = (GRACE_SECONDS + 60) * 1000

/** A Kubernetes namespace: what is there, and how it is changed. */
export interface Place {
  readonly space: Space
  readonly calls: Calls
  readonly drift: Drift
  readonly secrets: SecretPruner
}

/**
 * Makes a workload be there as it is described; what comes of it is seen by watches.
 *
 * @throws {TypeError} when it cannot be described to Kubernetes. @throws {Error} with what the API server said.
 */
export async function deploy(place: Place, workload: Workload, options: PodOptions): Promise<void> {
  const { space, calls, drift } = place
  const id = toId(workload)
  await space.answer(() => {})
  // What is on its way out would take the new one along.
  if (space.findDeployment(id)?.isEnding) await undeploy(place, workload)
  const attempt = chooseAttempt(space, id, workload.revision)
  const deployment = toDeployment(workload, { ...options, attempt })
  const applyParts = async (owner: string | undefined): Promise<void> => {
    await calls.apply(SECRETS, toSecret(workload, owner))
    await calls.apply(SERVICES, toService(workload, owner))
  }
  const { namespace, name, version, revision } = workload
  const secret = toSecretNameOf(workload)
  const expected: Expected = { key: { namespace, name, version }, revision, secret }
  const owner = space.findDeployment(id)?.uid
  drift.expect(id, expected)
  await applyParts(owner)
  const { generation = 0, uid } = (await calls.apply(DEPLOYMENTS, deployment)).metadata
  expected.generation = generation
  if (uid !== owner) await applyParts(uid)
  // What is read from now on is not what was before.
  await seen(space, id, SEEN_MS, () => (space.findDeployment(id)?.generation ?? 0) >= generation)
  await place.secrets.prune(id, secret)
}

/** Ends every copy, and leaves nothing of a workload. @throws {Error} when copies do not end. */
export async function undeploy(place: Place, key: WorkloadKey): Promise<void> {
  const { space, calls, drift, secrets } = place
  const id = toId(key)
  drift.forget(id)
  await space.answer(() => {})
  // It stays until the copies have ended: gateways drain them by it.
  await calls.disown(SERVICES, id)
  await calls.remove(DEPLOYMENTS, id, 'Foreground')
  const isGone = (): boolean =>
    space.findDeployment(id) === undefined && space.listPods(id).length === 0
  if (!(await seen(space, id, END_MS, isGone))) {
    const names = space.listPods(id).map(({ name }) => name)
    throw new Error(
      `${key.name}@${key.version} does not end within ${END_MS / 1000} s: pods ${names.join(', ') || 'none'}`,
    )
  }
  await calls.remove(SERVICES, id)
  await secrets.removeAll(id)
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
