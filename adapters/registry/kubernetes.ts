import type { Registry } from '../../core/contracts/registry.ts'
import { createRegistryWatchers } from '../../core/registry/event-hub.ts'
import { type Cluster, createFinder } from '../kubernetes/cluster.ts'
import { createMirror } from '../kubernetes/informer.ts'
import { toKubernetesService, toSlice } from './kubernetes/objects.ts'
import { createServiceIndex } from './kubernetes/service-index.ts'

export interface KubernetesRegistryOptions {
  /**
   * Namespace of the Services.
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
  /** Called with the reason for each ignored Service. @default process.emitWarning */
  readonly onProblem?: (message: string) => void
}

/** RFC 1123 label. */
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Registry of the Services in a Kubernetes namespace with the ready endpoints of their
 * EndpointSlices. It lists and watches them from the first query on. The registry is read-only,
 * because Kubernetes tracks its instances. docs/kubernetes-registry.md lists the annotations and
 * required permissions.
 *
 * @throws {TypeError} if the namespace is malformed. (`getService`, `listServices`) {Error} if
 * there is no cluster, or it is unreachable or denies access before the first list. Later, the last
 * known state is returned.
 */
export function createKubernetesRegistry(options: KubernetesRegistryOptions = {}): Registry {
  const { namespace, onProblem = (message) => process.emitWarning(message) } = options
  if (namespace !== undefined && !NAMESPACE.test(namespace)) {
    throw new TypeError(
      `namespace must be lower case letters, digits and inner dashes, at most 63, got ${JSON.stringify(namespace)}`,
    )
  }
  const { watch, emit, reportOutage: tellOutage } = createRegistryWatchers()
  const index = createServiceIndex({ onEvent: emit, onProblem })
  const { cluster } = options
  const mirror = createMirror({
    name: 'the Kubernetes registry',
    findCluster: cluster === undefined ? createFinder(options) : async () => cluster,
    onOutage: tellOutage,
  })
  mirror.add({
    resource: { name: 'services', group: '' },
    toItem: toKubernetesService,
    onList: index.replaceServices,
    onChanges: index.changeServices,
  })
  mirror.add({
    resource: { name: 'endpointslices', group: 'discovery.k8s.io' },
    toItem: toSlice,
    onList: index.replaceSlices,
    onChanges: index.changeSlices,
  })

  return {
    name: 'kubernetes',
    getService: (name) => mirror.query(() => index.getService(name)),
    listServices: () => mirror.query(() => index.listServices()),

    watch(listener, watchOptions) {
      mirror.start()
      return watch(listener, watchOptions)
    },

    close: mirror.close,
  }
}
