import type { Exchange } from '../../../core/exchange.ts'
import { type ByteRange, parseByteRange } from '../../../core/files/byte-range.ts'
import { appendParsed, HeaderList } from '../../../core/http/headers.ts'
import type { CompleteResponse } from '../../../core/reply/complete-response.ts'
import { isNotModified, isRangeApplicable } from './conditions.ts'
import { toAgeMs } from './response-policy.ts'
import { type StoredResponse, toHeaderList } from './stored-response.ts'

const EMPTY = new Uint8Array(0)
/** Headers about the body of a 200, which a 304 must not repeat (RFC 9110 §15.4.5). */
const BODY_HEADERS = /^content-(?!location$|security-policy$)/

/**
 * Builds the response to a request from a stored response: complete, a range, or 304 (RFC 9111 §4).
 *
 * @param cacheStatus value of `Cache-Status` (RFC 9211); undefined to omit it.
 */
export function toResponse(
  x: Exchange,
  stored: StoredResponse,
  nowMs: number,
  cacheStatus: string | undefined,
): CompleteResponse {
  const { status } = stored
  const age = String(Math.floor(toAgeMs(stored.policy, nowMs) / 1000))
  const finish = (code: number, headers: HeaderList, body: Uint8Array): CompleteResponse => {
    if (!x.writesDate) appendParsed(headers, 'date', stored.date)
    appendParsed(headers, 'age', age)
    if (cacheStatus !== undefined) appendParsed(headers, 'cache-status', cacheStatus)
    return { status: code, headers, body }
  }
  if (status === 200) {
    if (isNotModified(x, stored)) return finish(304, toNotModified(stored), EMPTY)
    const range = findRange(x, stored)
    if (range === 'unsatisfiable') {
      const headers = new HeaderList(['content-range', `bytes */${stored.body.length}`])
      return finish(416, headers, EMPTY)
    }
    if (range !== undefined) return finish(206, toPartial(stored, range), slice(stored, range))
  }
  return finish(status, toHeaderList(stored), stored.body)
}

function findRange(x: Exchange, stored: StoredResponse): ReturnType<typeof parseByteRange> {
  const { headers, method } = x
  const range = headers.get('range')
  if (range === undefined || method !== 'GET' || !isRangeApplicable(x, stored)) return undefined
  return parseByteRange(range, stored.body.length)
}

function toPartial(stored: StoredResponse, { start, length }: ByteRange): HeaderList {
  const headers = toHeaderList(stored)
  headers.set('content-range', `bytes ${start}-${start + length - 1}/${stored.body.length}`)
  return headers
}

function slice({ body }: StoredResponse, { start, length }: ByteRange): Uint8Array {
  return body.subarray(start, start + length)
}

function toNotModified({ fields }: StoredResponse): HeaderList {
  const headers = new HeaderList()
  for (let i = 0; i < fields.length; i += 2)
    if (!BODY_HEADERS.test(fields[i]!)) headers.append(fields[i]!, fields[i + 1]!)
  return headers
}
