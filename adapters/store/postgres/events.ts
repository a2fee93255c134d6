import type { StoreEvent } from '../../../core/contracts/store.ts'

/** PostgreSQL takes payloads below 8000 bytes. A key of 1024 bytes fits in whatever JSON makes of it. */
const MAX_BYTES = 7999

/** Events as payloads of NOTIFY, in their order: as many as fit into each. */
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

/** What {@link packEvents} packed; undefined when it was somebody else. */
export function unpackEvents(payload: string): StoreEvent[] | undefined {
  try {
    const entries: unknown = JSON.parse(payload)
    return Array.isArray(entries) ? entries.map(toEvent) : undefined
  } catch {
    // Whoever may connect to the database may notify.
    return undefined
  }
}

function toEvent(entry: unknown): StoreEvent {
  const fields: unknown[] = Array.isArray(entry) ? entry : []
  const [type, database, table, key] = fields
  if (type !== 'write' && type !== 'delete') throw new TypeError('no such event')
  if (typeof database !== 'string' || typeof table !== 'string' || typeof key !== 'string')
    throw new TypeError('a name is missing')
  return { type, table: { database, table }, key }
}
