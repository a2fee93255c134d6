import { GATEWAY_ID } from '../errors.ts'
import { badRequest } from './bad-request.ts'
import { coerce } from './coercion/coerce.ts'
import type { Shape } from './coercion/shape.ts'
import type { Fields } from './fields.ts'
import { parseForm } from './form.ts'
import type { RequestType } from './media-type.ts'
import { mergeFields, mergeJson } from './merge.ts'
import { parseMultipart } from './multipart.ts'
import { nestPairs, parseQuery } from './query/query.ts'

/** Parts of an HTTP request that form the request of an endpoint. */
export interface RequestParts {
  /** Decoded path variables: name, value, name, value… */
  readonly variables: readonly string[]
  /** As received, without the `?`. */
  readonly query: string
  /** Content type of the body. */
  readonly type: RequestType
  /** Empty without a body. */
  readonly body: Uint8Array
  /** Shape of the endpoint's requests, if known. */
  readonly shape: Shape | undefined
}

/**
 * Merges path variables, query and body into the request of an endpoint. The query takes precedence over the path, and
 * the body over both. Forms become JSON; an empty request becomes `{}`.
 *
 * Returns the unparsed bytes of the body if there is nothing to add, otherwise JSON text, for any content type.
 *
 * @throws {GatewayError} 400 if a part is malformed or does not match the shape, or a protobuf body comes with a query
 *   or variables, which cannot be merged.
 */
export function toRequestDocument(
  { variables, query, type, body, shape }: RequestParts,
  id: string = GATEWAY_ID,
): string | Uint8Array {
  const { kind } = type
  const isBare = query === '' && variables.length === 0
  if (kind === 'protobuf' && isBare) return body
  if (kind === 'protobuf' && body.length > 0) {
    throw badRequest(
      id,
      `query and path fields can only be merged into a JSON body, got ${type.type}`,
    )
  }
  if (kind === 'json' && isBare) return body.length > 0 ? body : '{}'
  let fields: Fields = parseQuery(query, id)
  if (variables.length > 0) fields = mergeFields(nestPairs(variables, 'path variable', id), fields)
  if (body.length > 0) {
    if (kind === 'json') return mergeJson(coerce(fields, shape, id), body, id)
    const form = kind === 'form' ? parseForm(body, id) : parseMultipart(body, type.boundary, id)
    fields = mergeFields(fields, form)
  }
  return JSON.stringify(coerce(fields, shape, id))
}
