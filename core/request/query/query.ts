import { GATEWAY_ID } from '../../errors.ts'
import { badRequest, quote } from '../bad-request.ts'
import { type Fields, FieldTree, MAX_FIELDS } from '../fields.ts'

/**
 * Parses a query (without its `?`) into decoded name, value, name, value…, in the order sent.
 *
 * Follows WHATWG URL, application/x-www-form-urlencoded: `&` separates pairs, `+` is a space, and empty pairs are
 * ignored. A pair without `=` has an empty value.
 *
 * @param label kind of pair, for errors.
 * @throws {GatewayError} 400 for more than 256 pairs (including empty ones), percent-encoding that is not UTF-8, or an
 *   empty name. Stops at the first error.
 */
export function parsePairs(
  text: string,
  label = 'query parameter',
  id: string = GATEWAY_ID,
): string[] {
  const pairs: string[] = []
  const encoded = text.includes('%') || text.includes('+')
  let count = 0
  for (let start = 0; start < text.length; ) {
    let end = text.indexOf('&', start)
    if (end < 0) end = text.length
    if (++count > MAX_FIELDS) throw badRequest(id, `expected at most ${MAX_FIELDS} ${label}s`)
    if (end > start) {
      const part = text.slice(start, end)
      const equals = part.indexOf('=')
      let name = equals < 0 ? part : part.slice(0, equals)
      let value = equals < 0 ? '' : part.slice(equals + 1)
      if (encoded) {
        name = decode(name, name, label, id)
        value = decode(value, name, label, id)
      }
      if (name === '') throw badRequest(id, `${label}s must have a name, got ${quote(`=${value}`)}`)
      pairs.push(name, value)
    }
    start = end + 1
  }
  return pairs
}

/**
 * Parses a query into a nested object; `FieldTree` defines how names nest.
 *
 * @throws {GatewayError} 400, see {@link parsePairs} and `FieldTree`.
 */
export function parseQuery(query: string, id: string = GATEWAY_ID): Fields {
  return nestPairs(parsePairs(query, 'query parameter', id), 'query parameter', id)
}

/** Builds a nested object from name, value, name, value… */
export function nestPairs(pairs: readonly string[], label: string, id: string): Fields {
  const tree = new FieldTree(label, id)
  for (let i = 0; i < pairs.length; i += 2) tree.add(pairs[i]!, pairs[i + 1]!)
  return tree.finish()
}

function decode(text: string, name: string, label: string, id: string): string {
  const plain = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!plain.includes('%')) return plain
  try {
    return decodeURIComponent(plain)
  } catch (error) {
    throw badRequest(
      id,
      `${label} ${quote(name)} must be percent-encoded UTF-8 such as %C3%A9, got ${quote(text)}`,
      error,
    )
  }
}
