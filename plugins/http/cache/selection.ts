import type { HeaderList } from '../../../core/http/headers.ts'

/** Request headers that select a response among several for one URI (RFC 9111 §4.1). */
export interface Selection {
  /** Lower-case names, in the order of `Vary`. */
  readonly names: readonly string[]
  /** Normalized values of the request. */
  readonly values: string
}

const NO_NAMES: readonly string[] = []
/** Headers whose members have no order, apart from their weights. */
const UNORDERED = new Set(['accept', 'accept-charset', 'accept-encoding', 'accept-language'])

/** Returns the lower-case names in `Vary`, without duplicates; undefined for `*`, which no other request matches. */
export function readVary(headers: HeaderList): readonly string[] | undefined {
  if (!headers.has('vary')) return NO_NAMES
  const names = headers
    .getAll('vary')
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '')
  return names.includes('*') ? undefined : [...new Set(names)]
}

/** Formats the values of the named headers so that equivalent requests have equal texts. */
export function toSelectionValues(names: readonly string[], headers: HeaderList): string {
  let text = ''
  for (const name of names) text += `${normalize(name, headers)}\n`
  return text
}

/** A missing header differs from an empty one. */
function normalize(name: string, headers: HeaderList): string {
  const first = headers.get(name)
  if (first === undefined) return '-'
  const items = headers
    .getAll(name)
    .flatMap((value) => value.split(','))
    .map((item) => item.trim())
  if (!UNORDERED.has(name)) return `=${items.join(',')}`
  const members = items.map((item) => item.toLowerCase().replace(/\s+/g, ''))
  return `=${members
    .filter((item) => item !== '')
    .sort()
    .join(',')}`
}
