import { HeaderList } from '../../../core/http/headers.ts'
import { decidePolicy, type PolicyDefaults, type ResponseHead } from './response-policy.ts'
import { type StoredResponse, toStoredHead, toStoredResponse } from './stored-response.ts'

/** Headers of a 304 that do not replace headers of the stored response (RFC 9111 §3.2). */
const UNCHANGED = new Set([
  ...['age', 'content-encoding', 'content-length', 'content-md5', 'content-range', 'etag'],
])

/**
 * Returns a stored response updated with the headers of a 304, or of a 200 for HEAD (RFC 9111 §4.3.4, §4.3.5).
 *
 * @param head headers of the update.
 * @returns undefined if the updated response must not be stored.
 */
export function freshen(
  stored: StoredResponse,
  { headers, requestMs, responseMs }: ResponseHead,
  hasCredentials: boolean,
  defaults: PolicyDefaults,
): StoredResponse | undefined {
  const updated = new Set<string>()
  for (let i = 0; i < headers.flat.length; i += 2) {
    const name = headers.flat[i]!
    if (!UNCHANGED.has(name)) updated.add(name)
  }
  const { status, fields, body, selection } = stored
  const merged = new HeaderList()
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!
    if (!updated.has(name)) merged.append(name, fields[i + 1]!)
  }
  for (let i = 0; i < headers.flat.length; i += 2) {
    const name = headers.flat[i]!
    if (updated.has(name) || name === 'age') merged.append(name, headers.flat[i + 1]!)
  }
  merged.date = headers.date
  const head = { status, headers: merged, requestMs, responseMs }
  const policy = decidePolicy(head, hasCredentials, defaults)
  return policy && toStoredResponse(toStoredHead(status, merged, policy, selection), body)
}

/** Whether a 200 for HEAD describes the stored response (RFC 9111 §4.3.5). */
export function isSameRepresentation(
  { etag, lastModified, body }: StoredResponse,
  headers: HeaderList,
  length: number,
): boolean {
  const isEqual = (name: string, value: string | undefined): boolean =>
    !headers.has(name) || headers.get(name) === value
  return (
    isEqual('etag', etag) &&
    isEqual('last-modified', lastModified) &&
    // A handler may respond to HEAD without the length of a GET response.
    (length <= 0 || length === body.length)
  )
}
