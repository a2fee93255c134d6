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
import { DEPLOYMENTS, type NamespaceState } from './namespace-state.ts'
import type { SecretPruner } from './prune-secrets.ts'
import { toState } from './state.ts'

/** Maximum wait in milliseconds for the watch to report a write. */
const WATCH_TIMEOUT_MS = 5000
/** Maximum wait in milliseconds for instances to end, including the loss of their node. */
const STOP_TIMEOUT_MS = (GRACE_SECONDS + 60) * 1000

/** State and operations of a Kubernetes namespace. */
export interface NamespaceContext {
  readonly space: NamespaceState
  readonly calls: Calls
  readonly drift: Drift
  readonly secrets: SecretPruner
}

/**
 * Applies the objects of a workload. Watches report the result.
 *
 * @throws {TypeError} for a workload that Kubernetes cannot run.
 * @throws {Error} with the message from the API server.
 */
export async function deploy(
  context: NamespaceContext,
  workload: Workload,
  options: PodOptions,
): Promise<void> {
  const { space, calls, drift } = context
  const id = toId(workload)
  await space.query(() => {})
  // Garbage collection of a Deployment that is being deleted would also delete the new objects.
  if (space.findDeployment(id)?.isEnding) await undeploy(context, workload)
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
  // Ensures that later reads do not return the state from before the deployment.
  await waitFor(
    space,
    id,
    WATCH_TIMEOUT_MS,
    () => (space.findDeployment(id)?.generation ?? 0) >= generation,
  )
  await context.secrets.prune(id, secret)
}

/**
 * Stops all instances and deletes all objects of a workload.
 *
 * @throws {Error} if instances do not stop.
 */
export async function undeploy(context: NamespaceContext, key: WorkloadKey): Promise<void> {
  const { space, calls, drift, secrets } = context
  const id = toId(key)
  drift.forget(id)
  await space.query(() => {})
  // The Service stays until the instances have ended, because gateways drain them through it.
  await calls.disown(SERVICES, id)
  await calls.remove(DEPLOYMENTS, id, 'Foreground')
  const isGone = (): boolean =>
    space.findDeployment(id) === undefined && space.listPods(id).length === 0
  if (!(await waitFor(space, id, STOP_TIMEOUT_MS, isGone))) {
    const names = space.listPods(id).map(({ name }) => name)
    throw new Error(
      `${key.name}@${key.version} did not stop within ${STOP_TIMEOUT_MS / 1000} s; remaining pods: ${names.join(', ') || 'none'}`,
    )
  }
  await calls.remove(SERVICES, id)
  await secrets.removeAll(id)
}

/**
 * Returns a new attempt if instances of the same revision have failed, so that they are restarted;
 * otherwise the current attempt.
 */
function chooseAttempt(space: NamespaceState, id: string, revision: string): string | undefined {
  const deployment = space.findDeployment(id)
  const pods = space.listPods(id)
  if (deployment?.revision !== revision)
    return pods.find((pod) => pod.revision === revision && !pod.isEnding)?.attempt
  const isFailed = toState(deployment, pods).error !== undefined
  return isFailed ? new Date().toISOString() : deployment.attempt
}

/** Resolves with whether the condition became true before the timeout. */
function waitFor(
  space: NamespaceState,
  id: string,
  timeoutMs: number,
  condition: () => boolean,
): Promise<boolean> {
  if (condition()) return Promise.resolve(true)
  return new Promise((resolve) => {
    const settle = (result: boolean): void => {
      clearTimeout(timer)
      unwatch()
      resolve(result)
    }
    const timer = setTimeout(() => settle(false), timeoutMs)
    const unwatch = space.onChange(id, () => condition() && settle(true))
  })
}
