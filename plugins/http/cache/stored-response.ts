import { createHeaderBlock, type HeaderBlock, HeaderList } from '../../../core/http/headers.ts'
import { parseHttpDate } from '../../../core/http/http-date.ts'
import { readGroups } from './groups.ts'
import { type ResponsePolicy, readDate } from './response-policy.ts'
import type { Selection } from './selection.ts'

/** A complete response in the cache. */
export interface StoredResponse {
  readonly status: number
  /** name, value, name, value… */
  readonly fields: readonly string[]
  /** Undefined if a value is not ASCII. */
  readonly block: HeaderBlock | undefined
  readonly body: Uint8Array
  readonly policy: ResponsePolicy
  readonly selection: Selection
  readonly etag: string | undefined
  readonly lastModified: string | undefined
  /** Time at which the response was generated, as sent by the backend or, without it, when it was received. */
  readonly date: string
  /** Time of the last modification for conditional requests: `Last-Modified`, or else `Date`. */
  readonly modifiedMs: number
  /** Keys that invalidate the response, from `Cache-Groups` and `Surrogate-Key`. */
  readonly groups: readonly string[]
  /** Memory used, in bytes. */
  readonly bytes: number
}

export type StoredHead = Omit<StoredResponse, 'body' | 'bytes'>

/** Memory used by a response in addition to body and headers. */
const OVERHEAD_BYTES = 700

/** Prepares a response for storage, except its body. */
export function toStoredHead(
  status: number,
  headers: HeaderList,
  policy: ResponsePolicy,
  selection: Selection,
): StoredHead {
  const { excluded, responseMs } = policy
  const { flat } = headers
  const fields: string[] = []
  for (let i = 0; i < flat.length; i += 2)
    if (!excluded.includes(flat[i]!)) fields.push(flat[i]!, flat[i + 1]!)
  // RFC 9110 §6.6.1.
  const date = readDate(headers) ?? new Date(responseMs).toUTCString()
  const list = new HeaderList(fields)
  const lastModified = list.get('last-modified')
  const modifiedMs = parseHttpDate(lastModified, responseMs) ?? parseHttpDate(date, responseMs)
  return {
    ...{ status, fields, policy, selection, date },
    block: list.ascii ? createHeaderBlock(fields) : undefined,
    etag: list.get('etag'),
    lastModified,
    modifiedMs: modifiedMs ?? responseMs,
    groups: readGroups(headers),
  }
}

export function toStoredResponse(head: StoredHead, body: Uint8Array): StoredResponse {
  const textBytes = head.fields.reduce(
    (sum, text) => sum + text.length,
    head.selection.values.length,
  )
  // Fields and the two texts of the block.
  return { ...head, body, bytes: body.length + 3 * textBytes + OVERHEAD_BYTES }
}

/** Creates a header list that the caller may change. */
export function toHeaderList({ block, fields }: StoredResponse): HeaderList {
  return block === undefined ? new HeaderList(fields) : HeaderList.of(block)
}
