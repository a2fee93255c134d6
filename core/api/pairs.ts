import { isUtf8 } from 'node:buffer'
import { createNullProto } from '../../lib/object/null-proto.ts'
import { GATEWAY_ID } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { badRequest, quote } from '../request/bad-request.ts'
import { FORBIDDEN } from '../request/fields.ts'
import { parsePairs } from '../request/query.ts'
import type { Pair, Pairs } from './messages.ts'

/** Values by name, in an object that inherits no names. */
export type Values = Record<string, string[]>

const WORD_START = /(?:^|-)[a-z]/g

/**
 * Groups name, value, name, value… of a query or form by name.
 *
 * @throws {GatewayError} 400 for names such as `__proto__`.
 */
export function groupValues(flat: readonly string[], what: string, id: string): Values {
  const values: Values = createNullProto()
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (FORBIDDEN.has(name)) throw badRequest(id, `${what} must not be named ${quote(name)}`)
    const known = values[name]
    if (known === undefined) values[name] = [flat[i + 1]!]
    else known.push(flat[i + 1]!)
  }
  return values
}

/**
 * The parameters of a query.
 *
 * @throws {GatewayError} 400 for a query that is malformed or has more than 256 parts.
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
 * The fields of a request as services see them: `Host` with them, names as in `Content-Type`, none of the platform's own.
 *
 * @param leftOut names of fields that are not for them. @default none
 */
export function toHeaderValues(x: Exchange, leftOut?: ReadonlySet<string>): Values {
  const values: Values = createNullProto()
  const { flat } = x.headers
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (isInternal(name) || leftOut?.has(name)) continue
    const key = toFieldName(name)
    const value = fromFieldValue(flat[i + 1]!)
    const known = values[key]
    if (known === undefined) values[key] = [value]
    else known.push(value)
  }
  if (x.host !== '') values['Host'] ??= [x.host]
  return values
}

/** Whether a field belongs to the platform: it is not told to services as the client's. */
export function isInternal(name: string): boolean {
  return name.startsWith('mx-') && name !== 'mx-namespace'
}

/** `content-type` as it is usually written: `Content-Type`. */
function toFieldName(lower: string): string {
  return lower.replace(WORD_START, (start) => start.toUpperCase())
}

/** Text of a field value, whose characters are bytes: of UTF-8 where they can be, else of ISO 8859-1. */
function fromFieldValue(value: string): string {
  for (let i = 0; i < value.length; i++) {
    if (value.charCodeAt(i) < 0x80) continue
    const bytes = Buffer.from(value, 'latin1')
    return isUtf8(bytes) ? bytes.toString() : value
  }
  return value
}
