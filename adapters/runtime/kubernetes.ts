import type {
  Resources,
  Runtime,
  WorkloadKey,
  WorkloadState,
} from '../../core/contracts/runtime.ts'
import { isPermanent } from '../../core/registry/errors.ts'
import { type Cluster, createFinder } from '../kubernetes/cluster.ts'
import { createCalls } from './kubernetes/calls.ts'
import { deploy, type NamespaceContext, undeploy } from './kubernetes/deploy.ts'
import { createDrift } from './kubernetes/drift.ts'
import { readLogs } from './kubernetes/logs.ts'
import type { PodOptions, PodSecurity } from './kubernetes/manifests.ts'
import { DEFAULT_NAMESPACE, toId, toKubernetesNamespace } from './kubernetes/names.ts'
import { createNamespaceState, type NamespaceState } from './kubernetes/namespace-state.ts'
import { createSecretPruner } from './kubernetes/prune-secrets.ts'

export interface KubernetesRuntimeOptions {
  /**
   * Kubernetes namespace for the `mx` namespace.
   *
   * @default the namespace of the pod inside a cluster, the namespace of the context outside,
   * otherwise `default`
   */
  readonly namespace?: string
  /**
   * Context of the kubeconfig.
   *
   * @default the service account inside a cluster, the current context outside
   */
  readonly context?: string
  /**
   * Folder of the service account in a pod.
   *
   * @default /var/run/secrets/kubernetes.io/serviceaccount
   */
  readonly accountFolder?: string
  /** @default the cluster found by the options above */
  readonly cluster?: Cluster
  /** Pod security of instances. @default restricted */
  readonly podSecurity?: PodSecurity
  /** Whether instances have a read-only root file system with a writable `/tmp`. @default true */
  readonly isRootReadOnly?: boolean
  /** Resource requests for workloads without limits. @default none */
  readonly requests?: Resources
  /**
   * Called with the reason when part of the cluster cannot be watched.
   *
   * @default process.emitWarning
   */
  readonly onProblem?: (message: string) => void
}

/** A namespace of mx with its cluster. */
interface OpenNamespace extends NamespaceContext {
  readonly findCluster: () => Promise<Cluster>
}

/**
 * Runs images as Deployments in a Kubernetes cluster, each with a Service and a Secret for its
 * credentials. All state is stored in the cluster, so several servers can share it and a restarted
 * server resumes from it. docs/kubernetes.md lists the objects, the namespaces and the required
 * permissions.
 */
export function createKubernetesRuntime(options: KubernetesRuntimeOptions = {}): Runtime {
  const { cluster, podSecurity = 'restricted', isRootReadOnly = true, requests = {} } = options
  const pods: PodOptions = { podSecurity, isRootReadOnly, requests }
  const { onProblem = (message: string) => process.emitWarning(message) } = options
  const find = cluster === undefined ? createFinder(options) : async () => cluster
  const listeners = new Set<(state: WorkloadState) => void>()
  const driftListeners = new Set<(key: WorkloadKey) => void>()
  const aborter = new AbortController()
  /** Namespaces by mx namespace. */
  const namespaces = new Map<string, OpenNamespace>()
  /** Last operation of each workload. Operations run in order. */
  const queues = new Map<string, Promise<void>>()

  function open(namespace: string): OpenNamespace {
    const existing = namespaces.get(namespace)
    if (existing !== undefined) return existing
    const findCluster = async (): Promise<Cluster> => {
      const cluster = await find()
      return { ...cluster, namespace: toKubernetesNamespace(namespace, cluster.namespace) }
    }
    const drift = createDrift({
      findCluster,
      // Other failures are also reported as outages of the namespace.
      onOutage: (reason) => reason && isPermanent(reason) && onProblem(reason.message),
      onDrift: (key) => {
        for (const listener of driftListeners) listener(key)
      },
    })
    const space = createNamespaceState({
      ...{ findCluster, onDeployment: drift.compare },
      onOutage: (reason) => reason && onProblem(reason.message),
      onState: (state) => {
        for (const listener of [...listeners]) listener(state)
      },
    })
    const calls = createCalls(findCluster, aborter.signal)
    const context = { findCluster, space, calls, drift, secrets: createSecretPruner(space, calls) }
    namespaces.set(namespace, context)
    return context
  }

  /** Runs after all earlier operations of the workload. */
  function enqueue(
    key: WorkloadKey,
    act: (context: NamespaceContext) => Promise<void>,
  ): Promise<void> {
    const id = toId(key)
    const operation = (queues.get(id) ?? Promise.resolve()).then(() => act(open(key.namespace)))
    const settled = operation.catch(() => {})
    queues.set(id, settled)
    void settled.then(() => queues.get(id) === settled && queues.delete(id))
    return operation
  }

  return {
    name: 'kubernetes',
    runs: 'image',
    scope: 'cluster',
    apply: (workload) => enqueue(workload, (context) => deploy(context, workload, pods)),
    remove: (key) => enqueue(key, (context) => undeploy(context, key)),

    async read() {
      const { space } = open(DEFAULT_NAMESPACE)
      const states: (readonly WorkloadState[])[] = [await space.query(() => space.states())]
      // An outage of another namespace has been reported by its watch and must not fail the entire
      // read.
      for (const { space: other } of namespaces.values())
        if (other !== space) states.push(await readStates(other))
      return states.flat()
    },

    watch(listener) {
      open(DEFAULT_NAMESPACE).space.start()
      const subscriber = (state: WorkloadState): void => listener(state)
      listeners.add(subscriber)
      return () => listeners.delete(subscriber)
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
      aborter.abort()
      for (const { space, drift } of namespaces.values()) {
        space.close()
        drift.close()
      }
    },
  }
}

async function readStates(space: NamespaceState): Promise<readonly WorkloadState[]> {
  try {
    return await space.query(() => space.states())
  } catch {
    return []
  }
}
