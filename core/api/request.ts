import { createNullProto } from '../../lib/object/null-proto.ts'
import { GATEWAY_ID } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { parseFormPairs } from '../request/form.ts'
import { FORM, parseMediaType } from '../request/media-type.ts'
import type { ApiRequest } from './messages.ts'
import { groupValues, toHeaderValues, toPairs, toQueryValues, type Values } from './pairs.ts'
import { encodeText } from './text.ts'

/** Content type that replaces a missing or malformed one. */
const NO_TYPE = 'text/plain; charset=UTF-8'

/**
 * Builds the `api.Request` for an exchange.
 *
 * `X-Forwarded-For` is set by the `forwarded` plugin.
 *
 * @param body the complete request body.
 * @throws {GatewayError} 400 if the query or form is malformed or has more than 256 parts.
 */
export function toApiRequest(x: Exchange, body: Uint8Array): ApiRequest {
  const header = toHeaderValues(x)
  const isForm = typeOf(header) === FORM
  const get = toQueryValues(x)
  const id = x.route?.service ?? GATEWAY_ID
  const post = isForm
    ? groupValues(parseFormPairs(body, id), 'a form field', id)
    : createNullProto<Values>()
  const { text, encoding } = isForm ? NO_TEXT : encodeText(body)
  return {
    method: x.method,
    path: x.path,
    header: toPairs(header),
    get: toPairs(get),
    post: toPairs(post),
    body: text,
    ...(encoding !== undefined && { encoding }),
    url: x.target,
  }
}

const NO_TEXT = { text: '', encoding: undefined }

/** Returns the media type without parameters, and replaces a missing or malformed one in `header`. */
function typeOf(header: Values): string {
  const media = parseMediaType(header['Content-Type']?.[0] ?? '')
  if (media === undefined) header['Content-Type'] = [NO_TYPE]
  return media?.type ?? ''
}
