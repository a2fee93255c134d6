import type { Maybe } from '../../core/chain.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { createWatchers } from '../../core/registry-watchers.ts'
import { type Cluster, findCluster } from '../kubernetes/cluster.ts'
import { type ReflectOptions, reflect } from '../kubernetes/reflect.ts'
import { toKubernetesService, toSlice } from './kubernetes/objects.ts'
import { createPicture } from './kubernetes/picture.ts'

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

/** Which of the two collections is meant. */
const SERVICES = { name: 'services', group: '' }
const SLICES = { name: 'endpointslices', group: 'discovery.k8s.io' }

/** Somebody who asked before the first answer of the cluster. */
interface Waiting {
  readonly resolve: () => void
  readonly reject: (reason: Error) => void
}

/**
 * The Services of a Kubernetes namespace with the ready endpoints of their slices, listed and watched from the first
 * question on. Read-only: Kubernetes knows by itself what runs. docs/registry.md has the annotations and the access needed.
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
  const picture = createPicture({ onEvent: emit, onProblem })
  const stops: (() => void)[] = []
  /** What has not been listed yet. */
  const unlisted = new Set([SERVICES, SLICES])
  const outages = new Map<object, Error>()
  let waiting: Waiting[] = []
  let cluster: Promise<Cluster> | undefined
  let closed = false

  const settle = (tell: (one: Waiting) => void): void => {
    const all = waiting
    waiting = []
    all.forEach(tell)
  }

  function start(): void {
    if (stops.length > 0 || closed) return
    follow(SERVICES, toKubernetesService, picture.replaceServices, picture.changeServices)
    follow(SLICES, toSlice, picture.replaceSlices, picture.changeSlices)
  }

  function follow<T>(
    resource: typeof SERVICES,
    toItem: ReflectOptions<T>['toItem'],
    replace: ReflectOptions<T>['onList'],
    onChanges: ReflectOptions<T>['onChanges'],
  ): void {
    const onList = (items: ReadonlyMap<string, T>): void => {
      unlisted.delete(resource)
      replace(items)
      if (unlisted.size === 0) settle(({ resolve }) => resolve())
    }
    const onOutage = (reason: Error | undefined): void => judge(resource, reason)
    stops.push(reflect({ findCluster: find, resource, toItem, onList, onChanges, onOutage }))
  }

  /** Found once; looked for again after it was not there. */
  function find(): Promise<Cluster> {
    if (options.cluster !== undefined) return Promise.resolve(options.cluster)
    cluster ??= findCluster(options).catch((error: unknown) => {
      cluster = undefined
      throw error
    })
    return cluster
  }

  /** It is an outage while either collection cannot be followed. */
  function judge(resource: object, reason: Error | undefined): void {
    const wasOut = outages.size > 0
    if (reason === undefined) outages.delete(resource)
    else outages.set(resource, reason)
    if (outages.size > 0 !== wasOut) tellOutage(reason)
    if (reason !== undefined && unlisted.size > 0) settle(({ reject }) => reject(reason))
  }

  /** The answer, as soon as there is a picture to take it from. */
  function answer<T>(read: () => T): Maybe<T> {
    if (closed) throw new Error('the Kubernetes registry is closed')
    if (unlisted.size === 0) return read()
    start()
    for (const reason of outages.values()) throw reason
    return new Promise<void>((resolve, reject) => waiting.push({ resolve, reject })).then(read)
  }

  return {
    name: 'kubernetes',
    getService: (name) => answer(() => picture.getService(name)),
    listServices: () => answer(() => picture.listServices()),

    watch(listener, watchOptions) {
      start()
      return watch(listener, watchOptions)
    },

    close() {
      closed = true
      for (const stop of stops) stop()
      settle(({ reject }) => reject(new Error('the Kubernetes registry is closed')))
    },
  }
}
