import type {
  Resources,
  Runtime,
  WorkloadKey,
  WorkloadState,
} from '../../core/contracts/runtime.ts'
import { isPermanent } from '../../core/registry/errors.ts'
import { type Cluster, createFinder } from '../kubernetes/cluster.ts'
import { createCalls } from './kubernetes/calls.ts'
import { deploy, type Place, undeploy } from './kubernetes/deploy.ts'
import { createDrift } from './kubernetes/drift.ts'
import { readLogs } from './kubernetes/logs.ts'
import type { PodOptions, PodSecurity } from './kubernetes/manifests.ts'
import { DEFAULT_NAMESPACE, toId, toKubernetesNamespace } from './kubernetes/names.ts'
import { createSpace, type Space } from './kubernetes/namespace-state.ts'
import { createSecretPruner } from './kubernetes/prune-secrets.ts'

/** In which cluster workloads run, and how. */
export interface KubernetesRuntimeOptions {
  /** Kubernetes namespace of the namespace `mx`. @default the pod's own in a cluster, that of the kubeconfig's context outside, else `default` */
  readonly namespace?: string
  /** Context of the kubeconfig. @default in a cluster its service account; outside the current context */
  readonly context?: string
  /** Where a pod finds its service account. @default /var/run/secrets/kubernetes.io/serviceaccount */
  readonly accountFolder?: string
  /** The cluster itself, where it is known. @default found by the options above */
  readonly cluster?: Cluster
  /** What copies may do. @default restricted */
  readonly podSecurity?: PodSecurity
  /** Whether the root file system of copies is read-only, with a writable `/tmp` of their own. @default true */
  readonly isRootReadOnly?: boolean
  /** What a copy requests of its node where its workload sets no limit. @default nothing */
  readonly requests?: Resources
  /** Told when a part of the cluster cannot be watched, and why. @default process.emitWarning */
  readonly onProblem?: (message: string) => void
}

/** A namespace of mx, and where its workloads are. */
interface Opened extends Place {
  readonly findCluster: () => Promise<Cluster>
}

/**
 * Runs images as Deployments of a Kubernetes cluster, each with a Service, and a Secret for its credentials. All there is to know of
 * them is in the cluster: several servers may use it, and one that starts anew finds what is there. docs/kubernetes.md has the
 * objects, the namespaces and the access needed.
 */
export function createKubernetesRuntime(options: KubernetesRuntimeOptions = {}): Runtime {
  const { cluster, podSecurity = 'restricted', isRootReadOnly = true, requests = {} } = options
  const pods: PodOptions = { podSecurity, isRootReadOnly, requests }
  const { onProblem = (message: string) => process.emitWarning(message) } = options
  const find = cluster === undefined ? createFinder(options) : async () => cluster
  const listeners = new Set<(state: WorkloadState) => void>()
  const driftListeners = new Set<(key: WorkloadKey) => void>()
  const ends = new AbortController()
  /** By the namespace of mx. */
  const opened = new Map<string, Opened>()
  /** What is done to a workload, one after the other. */
  const turns = new Map<string, Promise<void>>()

  function open(namespace: string): Opened {
    const known = opened.get(namespace)
    if (known !== undefined) return known
    const findCluster = async (): Promise<Cluster> => {
      const found = await find()
      return { ...found, namespace: toKubernetesNamespace(namespace, found.namespace) }
    }
    const drift = createDrift({
      findCluster,
      // Anything else is an outage of the space as well.
      onOutage: (reason) => reason && isPermanent(reason) && onProblem(reason.message),
      onDrift: (key) => {
        for (const listener of driftListeners) listener(key)
      },
    })
    const space = createSpace({
      ...{ findCluster, onDeployment: drift.compare },
      onOutage: (reason) => reason && onProblem(reason.message),
      onState: (state) => {
        for (const listener of [...listeners]) listener(state)
      },
    })
    const calls = createCalls(findCluster, ends.signal)
    const place = { findCluster, space, calls, drift, secrets: createSecretPruner(space, calls) }
    opened.set(namespace, place)
    return place
  }

  /** Does it once nothing else is done to the workload. */
  function inTurn(key: WorkloadKey, act: (place: Place) => Promise<void>): Promise<void> {
    const id = toId(key)
    const turn = (turns.get(id) ?? Promise.resolve()).then(() => act(open(key.namespace)))
    const settled = turn.catch(() => {})
    turns.set(id, settled)
    void settled.then(() => turns.get(id) === settled && turns.delete(id))
    return turn
  }

  return {
    name: 'kubernetes',
    runs: 'image',
    scope: 'cluster',
    apply: (workload) => inTurn(workload, (place) => deploy(place, workload, pods)),
    remove: (key) => inTurn(key, (place) => undeploy(place, key)),

    async read() {
      const { space } = open(DEFAULT_NAMESPACE)
      const states: (readonly WorkloadState[])[] = [await space.answer(() => space.states())]
      // One of the others that cannot be watched was told of; it is no reason to know nothing.
      for (const { space: other } of opened.values())
        if (other !== space) states.push(await answerOrNone(other))
      return states.flat()
    },

    watch(listener) {
      open(DEFAULT_NAMESPACE).space.start()
      const own = (state: WorkloadState): void => listener(state)
      listeners.add(own)
      return () => listeners.delete(own)
    },

    watchDrift(listener) {
      driftListeners.add(listener)
      return () => driftListeners.delete(listener)
    },

    logs(key, query) {
      const { space, findCluster } = open(key.namespace)
      return readLogs({ space, findCluster, id: toId(key) }, query)
    },

    async close() {
      ends.abort()
      for (const { space, drift } of opened.values()) {
        space.close()
        drift.close()
      }
    },
  }
}

async function answerOrNone(space: Space): Promise<readonly WorkloadState[]> {
  try {
    return await space.answer(() => space.states())
  } catch {
    return []
  }
}
