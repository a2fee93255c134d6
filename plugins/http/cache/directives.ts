import type { HeaderList } from '../../../core/http/headers.ts'

/** Directives of `Cache-Control` by lower-case name, with the values of all occurrences; '' for a missing value. */
export type Directives = ReadonlyMap<string, readonly string[]>

export const NO_DIRECTIVES: Directives = new Map()
/** Upper limit of a delta-seconds value (RFC 9111 §1.2.2). */
const SECONDS_MAX = 2 ** 31
const ITEM = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/
const DIGITS = /^\d+$/

/** Parses all `Cache-Control` headers, or headers of another name with the same syntax (RFC 9111 §5.2). */
export function parseDirectives(headers: HeaderList, name = 'cache-control'): Directives {
  if (!headers.has(name)) return NO_DIRECTIVES
  const directives = new Map<string, string[]>()
  for (const item of headers.getAll(name).join(',').match(ITEM) ?? []) {
    const text = item.trim()
    if (text === '') continue
    const at = text.indexOf('=')
    const key = (at === -1 ? text : text.slice(0, at)).toLowerCase()
    const value = at === -1 ? '' : unquote(text.slice(at + 1))
    const values = directives.get(key)
    if (values === undefined) directives.set(key, [value])
    else values.push(value)
  }
  return directives
}

/**
 * Returns a number of seconds; undefined if the directive is missing. An invalid value is 0, and the lowest of several
 * values applies, so that the response is stale (RFC 9111 §4.2.1).
 */
export function readSeconds(directives: Directives, name: string): number | undefined {
  const values = directives.get(name)
  return values && Math.min(...values.map(toSeconds))
}

/** Returns the lower-case header names of `private="..."` or `no-cache="..."`; empty without an argument. */
export function readNames(directives: Directives, name: string): string[] {
  return (directives.get(name) ?? []).flatMap((value) =>
    value
      .split(',')
      .map((each) => each.trim().toLowerCase())
      .filter((each) => each !== ''),
  )
}

/** Whether the directive is present without an argument, which applies to the complete response. */
export function isUnqualified(directives: Directives, name: string): boolean {
  return directives.get(name)?.includes('') === true
}

function toSeconds(text: string): number {
  return DIGITS.test(text) ? Math.min(Number(text), SECONDS_MAX) : 0
}

function unquote(text: string): string {
  const quoted = QUOTED.exec(text)
  return quoted === null ? text : quoted[1]!.replace(/\\(.)/g, '$1')
}
