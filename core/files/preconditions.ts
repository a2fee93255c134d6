import type { HeaderList } from '../http/headers.ts'

/** Validators of a representation; undefined if it has none. */
export interface Validators {
  /** Strong entity tag with its quotes. */
  readonly etag: string | undefined
  /** Unix time in whole seconds. */
  readonly modifiedS: number | undefined
}

const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g
const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Evaluates the conditional headers of a GET or HEAD request in the order of RFC 9110 §13.2.2. Returns the response
 * status.
 */
export function checkPreconditions(headers: HeaderList, current: Validators): 200 | 304 | 412 {
  const match = join(headers, 'if-match')
  if (match !== undefined) {
    if (!includes(match, current.etag, true)) return 412
  } else {
    const sinceS = parseDate(headers.get('if-unmodified-since'))
    if (sinceS !== undefined && current.modifiedS !== undefined && current.modifiedS > sinceS)
      return 412
  }
  const noneMatch = join(headers, 'if-none-match')
  if (noneMatch !== undefined) return includes(noneMatch, current.etag, false) ? 304 : 200
  const sinceS = parseDate(headers.get('if-modified-since'))
  return sinceS !== undefined && current.modifiedS !== undefined && current.modifiedS <= sinceS
    ? 304
    : 200
}

/** Whether `Range` applies: `If-Range` is missing or matches this representation (RFC 9110 §13.1.5). */
export function isRangeCurrent(headers: HeaderList, current: Validators): boolean {
  const value = headers.get('if-range')?.trim()
  if (value === undefined) return true
  if (value.startsWith('"')) return value === current.etag
  const dateS = parseDate(value)
  return dateS !== undefined && dateS === current.modifiedS
}

function join(headers: HeaderList, name: string): string | undefined {
  return headers.has(name) ? headers.getAll(name).join(',') : undefined
}

/** @param isStrong requires the strong comparison, in which weak tags never match. */
function includes(list: string, etag: string | undefined, isStrong: boolean): boolean {
  if (list.trim() === '*') return true
  const tags = list.match(TAG) ?? []
  return tags.some((tag) => (isStrong ? tag : tag.replace(/^W\//, '')) === etag)
}

/** Unix time in seconds; undefined for formats other than IMF-fixdate, which servers send (RFC 9110 §5.6.7). */
function parseDate(text: string | undefined): number | undefined {
  const ms = text !== undefined && DATE.test(text.trim()) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms / 1000
}
