import type { Exchange } from '../../../core/exchange.ts'
import type { HeaderList } from '../../../core/http/headers.ts'
import { parseHttpDate } from '../../../core/http/http-date.ts'
import type { StoredResponse } from './stored-response.ts'

/** Headers of a request that depend on the representation of the client, which a cache evaluates (RFC 9111 §4.3.2). */
const CONDITIONS = ['if-none-match', 'if-modified-since', 'range', 'if-range']
/** Conditions that only the backend evaluates. */
const FOR_BACKEND = ['if-match', 'if-unmodified-since']
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

export function hasConditions(headers: HeaderList): boolean {
  return CONDITIONS.some((name) => headers.has(name))
}

export function hasBackendConditions(headers: HeaderList): boolean {
  return FOR_BACKEND.some((name) => headers.has(name))
}

/** Removes the client's conditions. Returns them as name, value, name, value… */
export function takeConditions(headers: HeaderList): readonly string[] {
  const taken: string[] = []
  for (const name of CONDITIONS) {
    if (!headers.has(name)) continue
    for (const value of headers.getAll(name)) taken.push(name, value)
    headers.delete(name)
  }
  return taken
}

/** Replaces the conditions of a validation by the client's conditions. */
export function restoreConditions(headers: HeaderList, taken: readonly string[]): void {
  for (const name of CONDITIONS) headers.delete(name)
  for (let i = 0; i < taken.length; i += 2) headers.append(taken[i]!, taken[i + 1]!)
}

/** Whether a response can be validated. */
export function hasValidator({ etag, lastModified }: StoredResponse): boolean {
  return etag !== undefined || lastModified !== undefined
}

/** Makes a request conditional on a stored response (RFC 9111 §4.3.1). */
export function addValidators(headers: HeaderList, { etag, lastModified }: StoredResponse): void {
  if (etag !== undefined) headers.set('if-none-match', etag)
  if (lastModified !== undefined) headers.set('if-modified-since', lastModified)
}

/** Whether the client has this response, so that the response is a 304 (RFC 9110 §13.2.2). */
export function isNotModified({ headers }: Exchange, stored: StoredResponse): boolean {
  if (headers.has('if-none-match')) {
    const list = headers.getAll('if-none-match').join(',')
    if (list.trim() === '*') return true
    const { etag } = stored
    if (etag === undefined) return false
    const opaque = toOpaque(etag)
    // Some clients and backends omit the quotes.
    return list.trim() === etag || (list.match(TAG) ?? []).some((tag) => toOpaque(tag) === opaque)
  }
  const sinceMs = parseHttpDate(headers.get('if-modified-since'), stored.policy.responseMs)
  return sinceMs !== undefined && stored.modifiedMs <= sinceMs
}

/** Whether `Range` applies to this response: `If-Range` is missing or matches exactly (RFC 9110 §13.1.5). */
export function isRangeApplicable({ headers }: Exchange, stored: StoredResponse): boolean {
  const value = headers.get('if-range')?.trim()
  if (value === undefined) return true
  if (value.includes('"')) return value === stored.etag && !value.startsWith('W/')
  return value === stored.lastModified
}

function toOpaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}
