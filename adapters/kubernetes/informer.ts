import type { Maybe } from '../../lib/async/maybe.ts'
import type { Cluster } from './cluster.ts'
import { type ReflectOptions, reflect } from './list-watch.ts'

/** A collection as far as it is mirrored. */
export type Reflected<T> = Pick<
  ReflectOptions<T>,
  'resource' | 'selector' | 'isMetadataOnly' | 'toItem' | 'onList' | 'onChanges'
>

export interface MirrorOptions {
  /** As errors call it: `the Kubernetes registry`. */
  readonly name: string
  readonly findCluster: () => Promise<Cluster>
  /** Told when one of the collections cannot be followed any more, and why; and with undefined once all of them are again. */
  readonly onOutage: (reason: Error | undefined) => void
}

/** Collections that are kept as they are in the cluster, and whoever waits for them. */
export interface Mirror {
  /** Adds a collection; before it starts. */
  readonly add: <T>(collection: Reflected<T>) => void
  /** Begins to list and to watch, unless it did. */
  readonly start: () => void
  /**
   * What `read` takes from the collections, as soon as each was listed; starts it.
   *
   * @throws {Error} when it is closed; when a collection cannot be listed, as long as one never was.
   */
  readonly answer: <T>(read: () => T) => Maybe<T>
  readonly close: () => void
}

/** Somebody who asked before the first answer of the cluster. */
interface Waiting {
  readonly resolve: () => void
  readonly reject: (reason: Error) => void
}

export function createMirror({ name, findCluster, onOutage }: MirrorOptions): Mirror {
  const begins: (() => () => void)[] = []
  const stops: (() => void)[] = []
  /** What has not been listed yet. */
  const unlisted = new Set<object>()
  const outages = new Map<object, Error>()
  let waiting: Waiting[] = []
  let closed = false

  const settle = (tell: (one: Waiting) => void): void => {
    const all = waiting
    waiting = []
    all.forEach(tell)
  }

  /** It is an outage while any collection cannot be followed. */
  function judge(resource: object, reason: Error | undefined): void {
    const wasOut = outages.size > 0
    if (reason === undefined) outages.delete(resource)
    else outages.set(resource, reason)
    if (outages.size > 0 !== wasOut) onOutage(reason)
    if (reason !== undefined && unlisted.size > 0) settle(({ reject }) => reject(reason))
  }

  function start(): void {
    if (stops.length > 0 || closed) return
    for (const begin of begins) stops.push(begin())
  }

  return {
    add(collection) {
      const { resource } = collection
      unlisted.add(resource)
      const onList: typeof collection.onList = (items) => {
        unlisted.delete(resource)
        collection.onList(items)
        if (unlisted.size === 0) settle(({ resolve }) => resolve())
      }
      const onOutage = (reason: Error | undefined): void => judge(resource, reason)
      begins.push(() => reflect({ ...collection, findCluster, onList, onOutage }))
    },

    start,

    answer(read) {
      if (closed) throw new Error(`${name} is closed`)
      if (unlisted.size === 0) return read()
      start()
      for (const reason of outages.values()) throw reason
      return new Promise<void>((resolve, reject) => waiting.push({ resolve, reject })).then(read)
    },

    close() {
      closed = true
      for (const stop of stops) stop()
      settle(({ reject }) => reject(new Error(`${name} is closed`)))
    },
  }
}
