import { createHash } from 'node:crypto'
import { SharedPlaces } from '../../core/limits/shared-places.ts'
import type { Store } from '../../domain/store/store.ts'
import { unavailable } from '../../sdk/errors.ts'
import { createEventFeed, type EventFeed } from '../../sdk/events/event-feed.ts'
import { HEAD, toTable } from './records.ts'
import type { Snapshot, Snapshots } from './snapshots.ts'
import { parsePath } from './tree/path.ts'
import { type ConfigNode, findNode } from './tree/tree.ts'
import { formatStored } from './tree/tree-text.ts'

export interface WatchesOptions {
  readonly store: Store
  readonly snapshots: Snapshots
  /** Watchers at a time. */
  readonly maxWatchers: number
}

/** What is watched. */
export interface WatchTarget {
  readonly namespace: string
  readonly path: string
}

/** Those who watch. */
export interface Watches {
  /**
   * Begins to watch: what there is, then what there is after every change of it, secrets included; for a slow watcher only the last.
   *
   * @param id of errors.
   * @param onStart called once changes are noticed.
   * @throws {GatewayError} 429 when there are too many watchers, 503 when the service is being stopped.
   */
  readonly open: (
    target: WatchTarget,
    id: string,
    onStart: () => void,
  ) => AsyncIterableIterator<Snapshot>
  /** How many there are. */
  readonly count: () => number
  /** Ends all streams, with an error 503, and takes no more watchers. */
  readonly close: () => void
}

const STOPPING = 'the configuration is being closed'

export function createWatches({ store, snapshots, maxWatchers }: WatchesOptions): Watches {
  const feeds = new Set<EventFeed<string>>()
  const places = new SharedPlaces(maxWatchers, 'watchers')
  let closed = false

  return {
    open({ namespace, path }, id, onStart) {
      if (closed) throw unavailable(id, STOPPING)
      const leave = places.enter(namespace, id)
      const names = parsePath(path)
      let stop = (): void => {}
      let last: { readonly node: ConfigNode | undefined; readonly digest: string } | undefined
      const feed: EventFeed<string> = createEventFeed({
        id,
        maxWaiting: 1,
        onClose: () => {
          stop()
          leave()
          feeds.delete(feed)
        },
      })
      feeds.add(feed)
      // Missed or not, what there is now is read.
      const onChange = (): void => feed.push(HEAD, namespace)
      store
        .watch(toTable(namespace), HEAD, { onEvent: onChange, onMissedEvents: onChange })
        .then((stopWatching) => {
          stop = stopWatching
          if (!feeds.has(feed)) return stop()
          onStart()
          onChange()
        }, feed.fail)

      /** Undefined: the watcher has it. */
      async function readNews(): Promise<Snapshot | undefined> {
        const snapshot = await snapshots.read(namespace)
        const node = findNode(snapshot.tree, names)
        if (last !== undefined && node === last.node) return undefined
        const digest = toDigest(node)
        const isKnown = digest === last?.digest
        last = { node, digest }
        return isKnown ? undefined : snapshot
      }

      return {
        async next() {
          for (;;) {
            const { done } = await feed.next()
            if (done === true) return { done, value: undefined }
            try {
              const value = await readNews()
              if (value !== undefined) return { done: false, value }
            } catch (error) {
              feed.fail(error as Error)
              throw error
            }
          }
        },
        return: () => feed.return!() as Promise<IteratorResult<Snapshot>>,
        [Symbol.asyncIterator]() {
          return this
        },
      }
    },

    count: () => feeds.size,

    close() {
      closed = true
      for (const feed of feeds) feed.end(STOPPING)
    },
  }
}

/** Of another process's change the nodes are all new. */
function toDigest(node: ConfigNode | undefined): string {
  return node === undefined ? '' : createHash('sha256').update(formatStored(node)).digest('base64')
}
