import { RUNTIME_STATUS } from '../../core/contracts/runtime.ts'
import { createWatchHub } from '../../sdk/events/watch-hub.ts'
import type { ReadOptions, ServiceMessage } from './messages.ts'
import type { Reconciler } from './reconciler.ts'
import { type ServiceRecord, toObjectKey } from './state/records.ts'
import type { Servers } from './state/servers.ts'
import { toServiceMessage, toUnavailableMessage } from './to-message.ts'

export interface WatchMessage {
  readonly action: 'write' | 'delete'
  /** Current object. For a deleted object, its last state with the status `stopped`. */
  readonly service: ServiceMessage
}

export interface Watches {
  /**
   * Streams the matching objects, then each change. A slow watcher receives only the latest state
   * of each object. The stream ends if an object is specified that does not exist or is deleted.
   *
   * @param starter called once the watch has started.
   * @throws {GatewayError} 429 if there are too many watchers, 503 while the service is stopping.
   */
  readonly open: (
    namespace: string,
    filter: Pick<ReadOptions, 'service' | 'version' | 'type'>,
    id: string,
    starter: { readonly start: () => void },
  ) => AsyncIterable<WatchMessage>
  /** Ends all watches and rejects new ones. */
  readonly close: () => void
}

const MAX_WATCHERS = 10_000
const MAX_WAITING = 10_000
/** Error message of streams when the service stops. */
export const STOPPING = 'the runtime is stopping'

export interface WatchesOptions {
  readonly reconciler: Pick<Reconciler, 'records' | 'watch'>
  readonly servers: Pick<Servers, 'unreachable' | 'watch'>
  /** Returns whether this server manages an object. */
  readonly owns: (record: ServiceRecord) => boolean
  readonly nowMs: () => number
}

export function createWatches({ reconciler, servers, owns, nowMs }: WatchesOptions): Watches {
  const hub = createWatchHub<WatchMessage>({
    ...{ maxWatchers: MAX_WATCHERS, maxWaiting: MAX_WAITING, stopping: STOPPING },
  })

  /** Returns the current state, which is unknown if the object's server is unavailable. */
  function toWriteMessage(record: ServiceRecord): WatchMessage {
    const message = toServiceMessage(record)
    const seenMs = owns(record) ? undefined : servers.unreachable().get(record.server)
    const isUnreachable = seenMs !== undefined
    const service = isUnreachable
      ? toUnavailableMessage(message, record.server, nowMs() - seenMs)
      : message
    return { action: 'write', service }
  }

  return {
    open(namespace, { service, version, type }, id, starter) {
      const isSelected = (record: ServiceRecord): boolean =>
        record.namespace === namespace &&
        (service === '' || record.name === service) &&
        (version === '' || record.version === version) &&
        (type === '' || record.type === type)
      const listSelected = (): ServiceRecord[] =>
        [...reconciler.records.values()].filter(isSelected)
      const feed = hub.open({ id, namespace }, ({ push }) => {
        const stop = reconciler.watch((now, before) => {
          const record = now ?? before
          if (record !== undefined && isSelected(record))
            push(toObjectKey(record), now ? toWriteMessage(now) : toDeleted(record))
        })
        const stopServers = servers.watch((changed) => {
          for (const record of listSelected())
            if (changed.has(record.server)) push(toObjectKey(record), toWriteMessage(record))
        })
        return () => {
          stop()
          stopServers()
        }
      })
      for (const record of listSelected()) feed.push(toObjectKey(record), toWriteMessage(record))
      const isEnded = (): boolean => service !== '' && listSelected().length === 0
      starter.start()
      return (async function* () {
        try {
          if (isEnded()) return
          for await (const message of feed) {
            yield message
            if (message.action === 'delete' && isEnded()) return
          }
        } finally {
          await feed.return!()
        }
      })()
    },

    close: hub.close,
  }
}

function toDeleted(record: ServiceRecord): WatchMessage {
  const { metadata, ...service } = toServiceMessage(record)
  return {
    action: 'delete',
    service: {
      ...service,
      status: RUNTIME_STATUS.stopped,
      metadata: { ...metadata, status: 'stopped' },
    },
  }
}
