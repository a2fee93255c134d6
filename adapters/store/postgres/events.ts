import type { StoreEvent } from '../../../core/contracts/store.ts'

/**
 * PostgreSQL limits payloads to less than 8000 bytes. A key of 1024 bytes fits in any JSON
 * encoding.
 */
const MAX_BYTES = 7999

/** Packs events, in order, into payloads for NOTIFY. */
export function packEvents(events: readonly StoreEvent[]): string[] {
  const payloads: string[] = []
  let packed = ''
  let bytes = 0
  for (const { type, table, key } of events) {
    const entry = JSON.stringify([type, table.database, table.table, key])
    const more = Buffer.byteLength(entry) + 1
    if (packed !== '' && bytes + more + 1 > MAX_BYTES) {
      payloads.push(`[${packed}]`)
      packed = ''
      bytes = 0
    }
    packed += packed === '' ? entry : `,${entry}`
    bytes += more
  }
  if (packed !== '') payloads.push(`[${packed}]`)
  return payloads
}

/** Parses a payload from {@link packEvents}. Returns undefined for any other payload. */
export function unpackEvents(payload: string): StoreEvent[] | undefined {
  try {
    const entries: unknown = JSON.parse(payload)
    return Array.isArray(entries) ? entries.map(toEvent) : undefined
  } catch {
    // Any client of the database can send notifications.
    return undefined
  }
}

function toEvent(entry: unknown): StoreEvent {
  const fields: unknown[] = Array.isArray(entry) ? entry : []
  const [type, database, table, key] = fields
  if (type !== 'write' && type !== 'delete') throw new TypeError('unknown event type')
  if (typeof database !== 'string' || typeof table !== 'string' || typeof key !== 'string')
    throw new TypeError('missing name')
  return { type, table: { database, table }, key }
}
