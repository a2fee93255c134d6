import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StoreAdapter, StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { type KeyBounds, skipTo, toKeyRange } from './key-range.ts'

/** Which records to read. */
export interface StoreQuery extends KeyBounds {
  /** What keys end with. */
  readonly suffix?: string
  /** Records of the answer to leave out, from its start. */
  readonly offset?: number
  /** Most records of the page; 0, like more than a page holds: as many as that. @default 0 */
  readonly limit?: number
  /** Leaves values and metadata empty. */
  readonly keysOnly?: boolean
}

/** Part of what was asked for. */
export interface StorePage {
  readonly records: readonly StoreRecord[]
  /** The key behind which the next page begins (`after`); absent: there is none. */
  readonly next?: string
}

/** Records of a page. */
export const MAX_PAGE = 1000
/** Bytes about which a page has as JSON, values in base64: messages are at most 16 MiB. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024

/**
 * Reads a page. Records that were left out, by offset or suffix, are gone through 1000 a turn of the event loop.
 *
 * @param isThere whether a record counts.
 * @param signal gives up between two turns.
 * @throws the reason of the signal.
 */
export async function readPage(
  adapter: StoreAdapter,
  table: StoreTable,
  query: StoreQuery,
  isThere: (record: StoreRecord) => boolean,
  signal?: AbortSignal,
): Promise<StorePage> {
  const { suffix = '', keysOnly = false, reverse = false } = query
  const limit = Math.min(query.limit || MAX_PAGE, MAX_PAGE)
  const records: StoreRecord[] = []
  let left = query.offset ?? 0
  let range = toKeyRange(query)
  let bytes = 0
  for (;;) {
    // Of what may be left out the values are not read before it is known.
    const looks = left > 0 || suffix !== ''
    const slice = await adapter.scan(table, {
      ...(range.from !== undefined && { from: range.from }),
      ...(range.to !== undefined && { to: range.to }),
      reverse,
      limit: looks ? MAX_PAGE : limit - records.length,
      maxBytes: MAX_PAGE_BYTES - bytes,
      keysOnly: looks || keysOnly,
    })
    for (const [index, found] of slice.records.entries()) {
      if (!isThere(found) || !found.key.endsWith(suffix)) continue
      if (left > 0) {
        left--
        continue
      }
      const record = looks && !keysOnly ? await adapter.read(table, found.key) : found
      if (record === undefined || !isThere(record)) continue
      records.push(record)
      bytes += toBytes(record)
      if (records.length < limit && bytes < MAX_PAGE_BYTES) continue
      const isLast = index === slice.records.length - 1 && !slice.more
      return isLast ? { records } : { records, next: record.key }
    }
    const last = slice.records.at(-1)
    if (!slice.more || last === undefined) return { records }
    range = skipTo(range, last.key, reverse)
    await nextTurn()
    signal?.throwIfAborted()
  }
}

/** About what a record is as JSON. */
function toBytes({ key, value, metadata }: StoreRecord): number {
  let chars = key.length
  for (const name in metadata) chars += name.length + metadata[name]!.length
  // A control character is six, `\u0001`; three bytes are four.
  return chars * 6 + Math.ceil(value.length / 3) * 4
}
