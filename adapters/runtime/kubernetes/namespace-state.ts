import { EventEmitter } from 'node:events'
import type { WorkloadState } from '../../../core/contracts/runtime.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import type { Cluster } from '../../kubernetes/cluster.ts'
import { createMirror } from '../../kubernetes/informer.ts'
import type { Change } from '../../kubernetes/list-watch.ts'
import type { Resource } from '../../kubernetes/resource.ts'
import { SELECTOR, toId } from './names.ts'
import { type Deployment, type Pod, toDeploymentState, toPod } from './objects.ts'
import { toState } from './state.ts'

export const DEPLOYMENTS: Resource = { name: 'deployments', group: 'apps' }
export const PODS: Resource = { name: 'pods', group: '' }

export interface NamespaceStateOptions {
  /** Returns the cluster with the namespace to watch. */
  readonly findCluster: () => Promise<Cluster>
  /** Called with each change to a workload, and with `stopped` once all its objects are deleted. */
  readonly onState: (state: WorkloadState) => void
  /** Called with the workload id and each changed Deployment; undefined if it was deleted. */
  readonly onDeployment?: (id: string, deployment: Deployment | undefined) => void
  readonly onOutage: (reason: Error | undefined) => void
}

/** Watched state of the workloads in a Kubernetes namespace. */
export interface NamespaceState {
  /** Starts the watches; further calls have no effect. */
  readonly start: () => void
  /** Calls `read` once the state is synchronized. Rejects with the reason for an outage. */
  readonly query: <T>(read: () => T) => Maybe<T>
  readonly states: () => WorkloadState[]
  readonly findDeployment: (id: string) => Deployment | undefined
  readonly listPods: (id: string) => Pod[]
  /** Subscribes to changes to a workload and returns a function that unsubscribes. */
  readonly onChange: (id: string, listener: () => void) => () => void
  readonly close: () => void
}

export function createNamespaceState(options: NamespaceStateOptions): NamespaceState {
  const { findCluster, onState, onDeployment, onOutage } = options
  const deployments = new Map<string, Deployment>()
  /** Pods by workload id, then by name. */
  const pods = new Map<string, Map<string, Pod>>()
  /** Workload id by pod name, because a deletion contains only the name. */
  const workloads = new Map<string, string>()
  /** Last emitted states. */
  const emitted = new Map<string, WorkloadState>()
  const changed = new EventEmitter().setMaxListeners(0)

  const mirror = createMirror({ name: 'the Kubernetes runtime', findCluster, onOutage })

  mirror.add<Deployment | undefined>({
    resource: DEPLOYMENTS,
    selector: SELECTOR,
    toItem: toDeploymentState,
    onList: (items) => changeDeployments(toChanges(items, deployments.keys())),
    onChanges: changeDeployments,
  })
  mirror.add<Pod>({
    resource: PODS,
    selector: SELECTOR,
    toItem: toPod,
    onList: (items) => changePods(toChanges(items, workloads.keys())),
    onChanges: changePods,
  })

  function changeDeployments(changes: readonly Change<Deployment | undefined>[]): void {
    for (const { name, item } of changes) {
      // A Deployment created by another client to imitate mx does not have the name derived from
      // its key.
      if (item !== undefined && toId(item.key) === name) deployments.set(name, item)
      else deployments.delete(name)
    }
    emitStates(new Set(changes.map(({ name }) => name)))
    for (const { name } of changes) onDeployment?.(name, deployments.get(name))
  }

  function changePods(changes: readonly Change<Pod>[]): void {
    const ids = new Set<string>()
    for (const { name, item } of changes) {
      const id = item?.workload ?? workloads.get(name)
      if (id === undefined) continue
      ids.add(id)
      const all = pods.get(id) ?? new Map<string, Pod>()
      if (item === undefined) {
        all.delete(name)
        workloads.delete(name)
      } else {
        all.set(name, item)
        workloads.set(name, id)
      }
      if (all.size > 0) pods.set(id, all)
      else pods.delete(id)
    }
    emitStates(ids)
  }

  function emitStates(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const previous = emitted.get(id)
      const current = read(id) ?? (previous && toStopped(previous))
      if (current !== undefined && JSON.stringify(current) !== JSON.stringify(previous)) {
        if (current.status === 'stopped') emitted.delete(id)
        else emitted.set(id, current)
        onState(current)
      }
      changed.emit(id)
    }
  }

  /** Returns undefined once all objects are deleted. */
  function read(id: string): WorkloadState | undefined {
    const deployment = deployments.get(id)
    if (deployment !== undefined) return toState(deployment, listPods(id))
    const previous = emitted.get(id)
    return previous && pods.has(id) ? { ...previous, status: 'stopping', ready: 0 } : undefined
  }

  const listPods = (id: string): Pod[] => [...(pods.get(id)?.values() ?? [])]

  return {
    start: mirror.start,
    query: mirror.query,
    states: () =>
      [...new Set([...deployments.keys(), ...emitted.keys()])].flatMap((id) => read(id) ?? []),
    findDeployment: (id) => deployments.get(id),
    listPods,

    onChange(id, listener) {
      changed.on(id, listener)
      return () => changed.off(id, listener)
    },

    close: mirror.close,
  }
}

/** Converts a list to changes of the known names. */
function toChanges<T>(items: ReadonlyMap<string, T>, known: Iterable<string>): Change<T>[] {
  const deleted = [...known].filter((name) => !items.has(name))
  return [
    ...deleted.map((name) => ({ name, item: undefined })),
    ...[...items].map(([name, item]) => ({ name, item })),
  ]
}

function toStopped({ namespace, name, version, revision, retries }: WorkloadState): WorkloadState {
  return { namespace, name, version, revision, status: 'stopped', ready: 0, retries }
}
