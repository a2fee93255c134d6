import { RUNTIME_STATUS } from '../../core/contracts/runtime.ts'
import { formatDuration } from '../../lib/text/units.ts'
import type { ServiceMessage } from './messages.ts'
import type { UnreadRecord } from './state/objects.ts'
import type { ServiceRecord } from './state/records.ts'

const MINUTE_MS = 60_000

/** A runtime object as callers are told it (reference 7.1, 7.2). */
export function toServiceMessage(record: ServiceRecord): ServiceMessage {
  const { name, version, source, metadata, owner, group, status, update, current } = record
  const { startedMs, retries, restarts, lastFailure, changedMs, wish, type } = record
  const error = record.fault ?? record.failure
  const told: Record<string, string | undefined> = {
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
  const isThere = (entry: [string, string | undefined]): entry is [string, string] =>
    entry[1] !== undefined
  return {
    ...{ name, version, source: source || wish.image, status: RUNTIME_STATUS[status] },
    metadata: Object.fromEntries(Object.entries(told).filter(isThere)),
  }
}

/** One whose server has given no sign of life for so long: nobody knows how it is. */
export function toUnavailableMessage(
  message: ServiceMessage,
  server: string,
  silentMs: number,
): ServiceMessage {
  const silent = formatDuration(Math.floor(silentMs / MINUTE_MS) * MINUTE_MS)
  const error = `server ${server}, which runs it, has given no sign of life for ${silent}: start it again, or remove it with force and run it elsewhere`
  const metadata = { ...message.metadata, status: 'unknown', error }
  return { ...message, status: RUNTIME_STATUS.unknown, metadata }
}

/** One that another version of mx wrote: nothing else is known of it. */
export function toUnreadMessage({ name, version, error }: UnreadRecord): ServiceMessage {
  const metadata = { status: 'unknown', error: error.message }
  return { name, version, source: '', status: RUNTIME_STATUS.unknown, metadata }
}

/** RFC 3339. */
function toTime(ms: number): string {
  return new Date(ms).toISOString()
}
