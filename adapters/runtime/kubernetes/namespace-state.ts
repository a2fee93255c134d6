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

export interface SpaceOptions {
  /** The cluster, with the namespace that is meant. */
  readonly findCluster: () => Promise<Cluster>
  /** Told of every change of a workload, and of `stopped` once nothing is left of it. */
  readonly onState: (state: WorkloadState) => void
  /** Called with each Deployment that has changed, by the id of its workload; undefined: it is gone. */
  readonly onDeployment?: (id: string, deployment: Deployment | undefined) => void
  readonly onOutage: (reason: Error | undefined) => void
}

/** The workloads of a Kubernetes namespace, as watches tell of them. */
export interface Space {
  /** Begins to watch, unless it did. */
  readonly start: () => void
  /** What `read` takes from them, as soon as they are known; rejects with why they cannot be. */
  readonly answer: <T>(read: () => T) => Maybe<T>
  readonly states: () => WorkloadState[]
  readonly findDeployment: (id: string) => Deployment | undefined
  readonly listPods: (id: string) => Pod[]
  /** Calls it after every change of a workload, until the function that is returned is called. */
  readonly onChange: (id: string, listener: () => void) => () => void
  readonly close: () => void
}

export function createSpace(options: SpaceOptions): Space {
  const { findCluster, onState, onDeployment, onOutage } = options
  const deployments = new Map<string, Deployment>()
  /** By the id of their workload, then by name. */
  const pods = new Map<string, Map<string, Pod>>()
  /** The workload of each pod: of one that is gone no more than the name is told. */
  const workloads = new Map<string, string>()
  /** What was told last. */
  const told = new Map<string, WorkloadState>()
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
      // One that somebody else made after mx would not have the name of its key.
      if (item !== undefined && toId(item.key) === name) deployments.set(name, item)
      else deployments.delete(name)
    }
    tell(new Set(changes.map(({ name }) => name)))
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
    tell(ids)
  }

  function tell(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const before = told.get(id)
      const now = read(id) ?? (before && toGone(before))
      if (now !== undefined && JSON.stringify(now) !== JSON.stringify(before)) {
        if (now.status === 'stopped') told.delete(id)
        else told.set(id, now)
        onState(now)
      }
      changed.emit(id)
    }
  }

  /** Undefined: nothing is left of it. */
  function read(id: string): WorkloadState | undefined {
    const deployment = deployments.get(id)
    if (deployment !== undefined) return toState(deployment, listPods(id))
    const before = told.get(id)
    return before && pods.has(id) ? { ...before, status: 'stopping', ready: 0 } : undefined
  }

  const listPods = (id: string): Pod[] => [...(pods.get(id)?.values() ?? [])]

  return {
    start: mirror.start,
    answer: mirror.answer,
    states: () =>
      [...new Set([...deployments.keys(), ...told.keys()])].flatMap((id) => read(id) ?? []),
    findDeployment: (id) => deployments.get(id),
    listPods,

    onChange(id, listener) {
      changed.on(id, listener)
      return () => changed.off(id, listener)
    },

    close: mirror.close,
  }
}

/** A list as changes of what was known by these names. */
function toChanges<T>(items: ReadonlyMap<string, T>, known: Iterable<string>): Change<T>[] {
  const gone = [...known].filter((name) => !items.has(name))
  return [
    ...gone.map((name) => ({ name, item: undefined })),
    ...[...items].map(([name, item]) => ({ name, item })),
  ]
}

function toGone({ namespace, name, version, revision, retries }: WorkloadState): WorkloadState {
  return { namespace, name, version, revision, status: 'stopped', ready: 0, retries }
}
