import { createHash } from 'node:crypto'
import type { Store } from '../../domain/store/store.ts'
import { createWatchHub, mapFeed } from '../../sdk/events/watch-hub.ts'
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

export function createWatches({ store, snapshots, maxWatchers }: WatchesOptions): Watches {
  const stopping = 'the configuration is being closed'
  const hub = createWatchHub<string>({ maxWatchers, maxWaiting: 1, stopping })

  return {
    open({ namespace, path }, id, onStart) {
      const names = parsePath(path)
      let last: { readonly node: ConfigNode | undefined; readonly digest: string } | undefined
      // Missed or not, what there is now is read.
      const onChange = (): void => feed.push(HEAD, namespace)
      const listener = { onEvent: onChange, onMissedEvents: onChange }
      const onSubscribed = (): void => {
        onStart()
        onChange()
      }
      const feed = hub.open(
        { id, namespace },
        () => store.watch(toTable(namespace), HEAD, listener),
        onSubscribed,
      )

      return mapFeed(feed, async () => {
        const snapshot = await snapshots.read(namespace)
        const node = findNode(snapshot.tree, names)
        if (last !== undefined && node === last.node) return undefined
        const digest = toDigest(node)
        const isKnown = digest === last?.digest
        last = { node, digest }
        return isKnown ? undefined : snapshot
      })
    },

    count: hub.count,
    close: hub.close,
  }
}

/** Of another process's change the nodes are all new. */
function toDigest(node: ConfigNode | undefined): string {
  return node === undefined ? '' : createHash('sha256').update(formatStored(node)).digest('base64')
}
