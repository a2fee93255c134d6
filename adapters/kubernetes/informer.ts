import type { Maybe } from '../../lib/async/maybe.ts'
import type { Cluster } from './cluster.ts'
import { type ReflectOptions, reflect } from './list-watch.ts'

export type MirroredCollection<T> = Pick<
  ReflectOptions<T>,
  'resource' | 'selector' | 'isMetadataOnly' | 'toItem' | 'onList' | 'onChanges'
>

export interface MirrorOptions {
  /** Name in errors, for example `the Kubernetes registry`. */
  readonly name: string
  readonly findCluster: () => Promise<Cluster>
  /**
   * Called with the reason, once per outage, when a collection cannot be watched, and with
   * undefined when all collections are watched again.
   */
  readonly onOutage: (reason: Error | undefined) => void
}

/** In-memory mirror of collections. */
export interface Mirror {
  /** Adds a collection. Must be called before the start. */
  readonly add: <T>(collection: MirroredCollection<T>) => void
  /** Starts to list and watch; further calls have no effect. */
  readonly start: () => void
  /**
   * Starts the mirror and calls `read` when all collections are listed.
   *
   * @throws {Error} if closed or if the initial list of a collection fails.
   */
  readonly query: <T>(read: () => T) => Maybe<T>
  readonly close: () => void
}

/** A query waiting for the initial lists. */
interface PendingQuery {
  readonly resolve: () => void
  readonly reject: (reason: Error) => void
}

export function createMirror({ name, findCluster, onOutage }: MirrorOptions): Mirror {
  const starters: (() => () => void)[] = []
  const stops: (() => void)[] = []
  /** Collections that are not listed yet. */
  const unlisted = new Set<object>()
  const outages = new Map<object, Error>()
  let pending: PendingQuery[] = []
  let closed = false

  const settle = (action: (query: PendingQuery) => void): void => {
    const all = pending
    pending = []
    all.forEach(action)
  }

  /** An outage lasts while any collection cannot be watched. */
  function updateOutage(resource: object, reason: Error | undefined): void {
    const wasOut = outages.size > 0
    if (reason === undefined) outages.delete(resource)
    else outages.set(resource, reason)
    if (outages.size > 0 !== wasOut) onOutage(reason)
    if (reason !== undefined && unlisted.size > 0) settle(({ reject }) => reject(reason))
  }

  function start(): void {
    if (stops.length > 0 || closed) return
    for (const startCollection of starters) stops.push(startCollection())
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
      const onOutage = (reason: Error | undefined): void => updateOutage(resource, reason)
      starters.push(() => reflect({ ...collection, findCluster, onList, onOutage }))
    },

    start,

    query(read) {
      if (closed) throw new Error(`${name} is closed`)
      if (unlisted.size === 0) return read()
      start()
      for (const reason of outages.values()) throw reason
      return new Promise<void>((resolve, reject) => pending.push({ resolve, reject })).then(read)
    },

    close() {
      closed = true
      for (const stop of stops) stop()
      settle(({ reject }) => reject(new Error(`${name} is closed`)))
    },
  }
}
