import { GATEWAY_ID } from '../errors.ts'
import { badRequest } from './bad-request.ts'
import type { Fields } from './fields.ts'
import { ADD_JSON_TYPE } from './media-type.ts'
import { nestPairs, parsePairs } from './query/query.ts'
import { decodeUtf8 } from './utf8.ts'

const FIELD_KIND = 'form field'

/**
 * Parses a body of type `application/x-www-form-urlencoded` into name, value, name, value…, in the order sent,
 * following the rules of `parsePairs`.
 *
 * @throws {GatewayError} 400, including for JSON, which command-line tools send with this type by default.
 */
export function parseFormPairs(body: Uint8Array, id: string = GATEWAY_ID): string[] {
  const text = decodeUtf8(body, 'form', id)
  if (text.trimStart().startsWith('{'))
    throw badRequest(id, `form must be name=value pairs; to send JSON, ${ADD_JSON_TYPE}`)
  return parsePairs(text, FIELD_KIND, id)
}

/**
 * Parses a body of type `application/x-www-form-urlencoded` into a nested object, following the rules of `parseQuery`.
 */
export function parseForm(body: Uint8Array, id: string = GATEWAY_ID): Fields {
  return nestPairs(parseFormPairs(body, id), FIELD_KIND, id)
}
