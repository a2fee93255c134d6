import { createHash } from 'node:crypto'
import type { Store } from '../../domain/store/store.ts'
import { createWatchHub, mapFeed } from '../../sdk/events/watch-hub.ts'
import { HEAD, toTable } from './records.ts'
import type { Snapshot, Snapshots } from './snapshots.ts'
import { splitConfigPath } from './tree/path.ts'
import { type ConfigNode, findNode } from './tree/tree.ts'
import { formatStored } from './tree/tree-text.ts'

export interface WatchesOptions {
  readonly store: Store
  readonly snapshots: Snapshots
  /** Maximum number of watchers. */
  readonly maxWatchers: number
}

export interface WatchTarget {
  readonly namespace: string
  readonly path: string
}

export interface Watches {
  /**
   * Streams the current value, then each change, including secrets. A slow watcher receives only
   * the latest value.
   *
   * @param id id used in errors.
   * @param onStart called once changes are observed.
   * @throws {GatewayError} 429 if there are too many watchers, 503 while the service is stopping.
   */
  readonly open: (
    target: WatchTarget,
    id: string,
    onStart: () => void,
  ) => AsyncIterableIterator<Snapshot>
  /** Returns the number of watchers. */
  readonly count: () => number
  /** Ends all streams with 503 and rejects new ones. */
  readonly close: () => void
}

export function createWatches({ store, snapshots, maxWatchers }: WatchesOptions): Watches {
  const stopping = 'the config service is stopping'
  const hub = createWatchHub<string>({ maxWatchers, maxWaiting: 1, stopping })

  return {
    open({ namespace, path }, id, onStart) {
      const names = splitConfigPath(path)
      let last: { readonly node: ConfigNode | undefined; readonly digest: string } | undefined
      // Reads the current value regardless of whether events were missed.
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
        const isUnchanged = digest === last?.digest
        last = { node, digest }
        return isUnchanged ? undefined : snapshot
      })
    },

    count: hub.count,
    close: hub.close,
  }
}

// Compares digests, because nodes changed by another process are never shared.
function toDigest(node: ConfigNode | undefined): string {
  return node === undefined ? '' : createHash('sha256').update(formatStored(node)).digest('base64')
}
