import { RUNTIME_STATUS } from '../../core/contracts/runtime.ts'
import { createWatchHub } from '../../sdk/events/watch-hub.ts'
import type { ReadOptions, ServiceMessage } from './messages.ts'
import type { Reconciler } from './reconciler.ts'
import { type ServiceRecord, toObjectKey } from './state/records.ts'
import type { Servers } from './state/servers.ts'
import { toServiceMessage, toUnavailableMessage } from './to-message.ts'

/** A change as watchers are told it. */
export interface WatchMessage {
  readonly action: 'write' | 'delete'
  /** As it is now; of one that is gone, as it was, with the status `stopped`. */
  readonly service: ServiceMessage
}

/** Those who watch. */
export interface Watches {
  /**
   * The objects there are, then what becomes of them; of each what is so when its watcher takes it. One that is named, and
   * is not there or goes, ends it.
   *
   * @param starter told once the watch has begun.
   * @throws {GatewayError} 429 when there are too many watchers, 503 when the service is being stopped.
   */
  readonly open: (
    namespace: string,
    wanted: Pick<ReadOptions, 'service' | 'version' | 'type'>,
    id: string,
    starter: { readonly start: () => void },
  ) => AsyncIterable<WatchMessage>
  /** Ends all of them, and takes no more. */
  readonly close: () => void
}

const MOST_WATCHERS = 10_000
const MOST_WAITING = 10_000
/** What streams end with that the service does not go on with. */
export const STOPPING = 'the runtime is being stopped'

export interface WatchesOptions {
  readonly reconciler: Pick<Reconciler, 'records' | 'watch'>
  readonly servers: Pick<Servers, 'away' | 'watch'>
  /** Whether this server may act on an object. */
  readonly owns: (record: ServiceRecord) => boolean
  readonly nowMs: () => number
}

export function createWatches({ reconciler, servers, owns, nowMs }: WatchesOptions): Watches {
  const hub = createWatchHub<WatchMessage>({
    ...{ maxWatchers: MOST_WATCHERS, maxWaiting: MOST_WAITING, stopping: STOPPING },
  })

  /** As it is now: of one whose server is away nobody knows. */
  function toWritten(record: ServiceRecord): WatchMessage {
    const message = toServiceMessage(record)
    const seenMs = owns(record) ? undefined : servers.away().get(record.server)
    const isAway = seenMs !== undefined
    const service = isAway
      ? toUnavailableMessage(message, record.server, nowMs() - seenMs)
      : message
    return { action: 'write', service }
  }

  return {
    open(namespace, { service, version, type }, id, starter) {
      const isMeant = (record: ServiceRecord): boolean =>
        record.namespace === namespace &&
        (service === '' || record.name === service) &&
        (version === '' || record.version === version) &&
        (type === '' || record.type === type)
      const there = (): ServiceRecord[] => [...reconciler.records.values()].filter(isMeant)
      const feed = hub.open({ id, namespace }, ({ push }) => {
        const stop = reconciler.watch((now, before) => {
          const record = now ?? before
          if (record !== undefined && isMeant(record))
            push(toObjectKey(record), now ? toWritten(now) : toDeleted(record))
        })
        const stopServers = servers.watch((changed) => {
          for (const record of there())
            if (changed.has(record.server)) push(toObjectKey(record), toWritten(record))
        })
        return () => {
          stop()
          stopServers()
        }
      })
      for (const record of there()) feed.push(toObjectKey(record), toWritten(record))
      const isOver = (): boolean => service !== '' && there().length === 0
      starter.start()
      return (async function* () {
        try {
          if (isOver()) return
          for await (const message of feed) {
            yield message
            if (message.action === 'delete' && isOver()) return
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
