import type { Registry } from '../../core/contracts/registry.ts'
import { createWatchers } from '../../core/registry/event-hub.ts'
import { type Cluster, createFinder } from '../kubernetes/cluster.ts'
import { createMirror } from '../kubernetes/informer.ts'
import { toKubernetesService, toSlice } from './kubernetes/objects.ts'
import { createServiceIndex } from './kubernetes/service-index.ts'

/** Which cluster is looked at, and what of it. */
export interface KubernetesRegistryOptions {
  /** Whose Services are known. @default the pod's own in a cluster, that of the kubeconfig's context outside, else `default` */
  readonly namespace?: string
  /** Context of the kubeconfig. @default in a cluster its service account; outside the current context */
  readonly context?: string
  /** Where a pod finds its service account. @default /var/run/secrets/kubernetes.io/serviceaccount */
  readonly accountFolder?: string
  /** The cluster itself, where it is known. @default found by the options above */
  readonly cluster?: Cluster
  /** Told of every Service that is left out, and why. @default process.emitWarning */
  readonly onProblem?: (message: string) => void
}

/** RFC 1123 label, what a namespace is called. */
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The Services of a Kubernetes namespace with the ready endpoints of their slices, listed and watched from the first
 * question on. Read-only: Kubernetes knows by itself what runs. docs/kubernetes-registry.md has the annotations and the access needed.
 *
 * @throws {TypeError} when the namespace is none. (`getService`, `listServices`) {Error} when there is no cluster, or it
 * refuses or does not answer, before its first answer; later what was known last is told.
 */
export function createKubernetesRegistry(options: KubernetesRegistryOptions = {}): Registry {
  const { namespace, onProblem = (message) => process.emitWarning(message) } = options
  if (namespace !== undefined && !NAMESPACE.test(namespace)) {
    throw new TypeError(
      `namespace must be lower case letters, digits and inner dashes, at most 63, got ${JSON.stringify(namespace)}`,
    )
  }
  const { watch, emit, tellOutage } = createWatchers()
  const picture = createServiceIndex({ onEvent: emit, onProblem })
  const { cluster } = options
  const mirror = createMirror({
    name: 'the Kubernetes registry',
    findCluster: cluster === undefined ? createFinder(options) : async () => cluster,
    onOutage: tellOutage,
  })
  mirror.add({
    resource: { name: 'services', group: '' },
    toItem: toKubernetesService,
    onList: picture.replaceServices,
    onChanges: picture.changeServices,
  })
  mirror.add({
    resource: { name: 'endpointslices', group: 'discovery.k8s.io' },
    toItem: toSlice,
    onList: picture.replaceSlices,
    onChanges: picture.changeSlices,
  })

  return {
    name: 'kubernetes',
    getService: (name) => mirror.answer(() => picture.getService(name)),
    listServices: () => mirror.answer(() => picture.listServices()),

    watch(listener, watchOptions) {
      mirror.start()
      return watch(listener, watchOptions)
    },

    close: mirror.close,
  }
}
