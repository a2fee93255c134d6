import { setImmediate as nextTick } from 'node:timers/promises'
import type { StoreAdapter, StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { type KeyBounds, skipTo, toKeyRange } from './key-range.ts'

export interface StoreQuery extends KeyBounds {
  /** Suffix of keys. */
  readonly suffix?: string
  /** Number of matching records to skip. */
  readonly offset?: number
  /** Page size. 0 or a larger value means the maximum. @default 0 */
  readonly limit?: number
  /** Whether to omit values and metadata. */
  readonly keysOnly?: boolean
}

export interface StorePage {
  readonly records: readonly StoreRecord[]
  /** Cursor of the next page (`after`); absent on the last page. */
  readonly next?: string
}

/** Maximum page size. */
export const MAX_PAGE = 1000
/**
 * Approximate maximum size in bytes of a page as JSON, with values in base64. Messages are limited
 * to 16 MiB.
 */
const MAX_PAGE_BYTES = 8 * 1024 * 1024

/**
 * Reads a page. Records skipped by offset or suffix are read in batches of 1000 per event loop
 * tick.
 *
 * @param exists returns whether a record exists and has not expired.
 * @param signal aborts between two ticks.
 * @throws the reason of the signal.
 */
export async function readPage(
  adapter: StoreAdapter,
  table: StoreTable,
  query: StoreQuery,
  exists: (record: StoreRecord) => boolean,
  signal?: AbortSignal,
): Promise<StorePage> {
  const { suffix = '', keysOnly = false, reverse = false } = query
  const limit = Math.min(query.limit || MAX_PAGE, MAX_PAGE)
  const records: StoreRecord[] = []
  let toSkip = query.offset ?? 0
  let range = toKeyRange(query)
  let bytes = 0
  for (;;) {
    // Values of records that may be skipped are read last.
    const isScan = toSkip > 0 || suffix !== ''
    const slice = await adapter.scan(table, {
      ...(range.from !== undefined && { from: range.from }),
      ...(range.to !== undefined && { to: range.to }),
      reverse,
      limit: isScan ? MAX_PAGE : limit - records.length,
      maxBytes: MAX_PAGE_BYTES - bytes,
      keysOnly: isScan || keysOnly,
    })
    for (const [index, found] of slice.records.entries()) {
      if (!exists(found) || !found.key.endsWith(suffix)) continue
      if (toSkip > 0) {
        toSkip--
        continue
      }
      const record = isScan && !keysOnly ? await adapter.read(table, found.key) : found
      if (record === undefined || !exists(record)) continue
      records.push(record)
      bytes += toBytes(record)
      if (records.length < limit && bytes < MAX_PAGE_BYTES) continue
      const isLast = index === slice.records.length - 1 && !slice.more
      return isLast ? { records } : { records, next: record.key }
    }
    const last = slice.records.at(-1)
    if (!slice.more || last === undefined) return { records }
    range = skipTo(range, last.key, reverse)
    await nextTick()
    signal?.throwIfAborted()
  }
}

/** Returns the approximate size of a record as JSON. */
function toBytes({ key, value, metadata }: StoreRecord): number {
  let chars = key.length
  for (const name in metadata) chars += name.length + metadata[name]!.length
  // A control character takes six bytes (`\u0001`); base64 takes four bytes for three.
  return chars * 6 + Math.ceil(value.length / 3) * 4
}
