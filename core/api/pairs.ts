import { isUtf8 } from 'node:buffer'
import { createNullProto } from '../../lib/object/null-proto.ts'
import { GATEWAY_ID } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { badRequest, quote } from '../request/bad-request.ts'
import { FORBIDDEN } from '../request/fields.ts'
import { parsePairs } from '../request/query/query.ts'
import type { Pair, Pairs } from './messages.ts'

/** Values by name, in an object without prototype. */
export type Values = Record<string, string[]>

const WORD_START = /(?:^|-)[a-z]/g

/**
 * Groups the flat list of a query or form (name, value, name, value…) by name.
 *
 * @throws {GatewayError} 400 for names such as `__proto__`.
 */
export function groupValues(flat: readonly string[], label: string, id: string): Values {
  const values: Values = createNullProto()
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (FORBIDDEN.has(name)) throw badRequest(id, `${label} must not be named ${quote(name)}`)
    const known = values[name]
    if (known === undefined) values[name] = [flat[i + 1]!]
    else known.push(flat[i + 1]!)
  }
  return values
}

/**
 * Query parameters.
 *
 * @throws {GatewayError} 400 if the query is malformed or has more than 256 parts.
 */
export function toQueryValues(x: Exchange): Values {
  const id = x.route?.service ?? GATEWAY_ID
  return groupValues(parsePairs(x.query, 'query parameter', id), 'a query parameter', id)
}

export function toPairs(values: Values): Pairs {
  const pairs: Record<string, Pair> = createNullProto()
  for (const key in values) pairs[key] = { key, values: values[key]! }
  return pairs
}

/**
 * Request headers as received by services: with `Host`, with canonical names, and without internal headers.
 *
 * @param omitted names of headers to omit. @default none
 */
export function toHeaderValues(x: Exchange, omitted?: ReadonlySet<string>): Values {
  const values: Values = createNullProto()
  const { flat } = x.headers
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (isInternal(name) || omitted?.has(name)) continue
    const key = toHeaderName(name)
    const value = decodeHeaderValue(flat[i + 1]!)
    const known = values[key]
    if (known === undefined) values[key] = [value]
    else known.push(value)
  }
  if (x.host !== '') values['Host'] ??= [x.host]
  return values
}

/** True for internal headers, which are removed from client requests. */
export function isInternal(name: string): boolean {
  return name.startsWith('mx-') && name !== 'mx-namespace'
}

/** Canonical form of a header name: `Content-Type` for `content-type`. */
function toHeaderName(lower: string): string {
  return lower.replace(WORD_START, (start) => start.toUpperCase())
}

/** Decodes a header value, one byte per character: UTF-8 if valid, else ISO 8859-1. */
function decodeHeaderValue(value: string): string {
  for (let i = 0; i < value.length; i++) {
    if (value.charCodeAt(i) < 0x80) continue
    const bytes = Buffer.from(value, 'latin1')
    return isUtf8(bytes) ? bytes.toString() : value
  }
  return value
}
