import { RUNTIME_STATUS } from '../../core/contracts/runtime.ts'
import { formatDuration } from '../../lib/text/units.ts'
import type { ServiceMessage } from './messages.ts'
import type { UnreadRecord } from './state/objects.ts'
import type { ServiceRecord } from './state/records.ts'

const MINUTE_MS = 60_000

/** Converts a record to its message (reference 7.1, 7.2). */
export function toServiceMessage(record: ServiceRecord): ServiceMessage {
  const { name, version, source, metadata, owner, group, status, update, current } = record
  const { startedMs, retries, restarts, lastFailure, changedMs, wish, type } = record
  const error = record.fault ?? record.failure
  const entries: Record<string, string | undefined> = {
    ...metadata,
    owner,
    group,
    status,
    update,
    error,
    source: metadata['source'] || source || undefined,
    type: type || undefined,
    image: wish.image || undefined,
    started: startedMs === 0 ? undefined : toTime(startedMs),
    retries: String(retries),
    restarts: restarts === undefined ? undefined : String(restarts),
    lastFailure,
    lastStatusUpdate: toTime(changedMs),
    build: current?.build || undefined,
    commit: current?.commit || undefined,
  }
  const isDefined = (entry: [string, string | undefined]): entry is [string, string] =>
    entry[1] !== undefined
  return {
    ...{ name, version, source: source || wish.image, status: RUNTIME_STATUS[status] },
    metadata: Object.fromEntries(Object.entries(entries).filter(isDefined)),
  }
}

/**
 * Returns the message for an object whose state is unknown, because its server has not sent a
 * recent heartbeat.
 */
export function toUnavailableMessage(
  message: ServiceMessage,
  server: string,
  silentMs: number,
): ServiceMessage {
  const silent = formatDuration(Math.floor(silentMs / MINUTE_MS) * MINUTE_MS)
  const error = `server ${server}, which runs the service, has sent no heartbeat for ${silent}; restart the server, or delete the service with force and run it elsewhere`
  const metadata = { ...message.metadata, status: 'unknown', error }
  return { ...message, status: RUNTIME_STATUS.unknown, metadata }
}

/** Returns the message for an object written by another version of mx. */
export function toUnreadMessage({ name, version, error }: UnreadRecord): ServiceMessage {
  const metadata = { status: 'unknown', error: error.message }
  return { name, version, source: '', status: RUNTIME_STATUS.unknown, metadata }
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}
