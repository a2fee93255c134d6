import { createNullProto } from '../../lib/object/null-proto.ts'
import { GATEWAY_ID } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { parseFormPairs } from '../request/form.ts'
import { FORM, parseMediaType } from '../request/media-type.ts'
import type { ApiRequest } from './messages.ts'
import { groupValues, toHeaderValues, toPairs, toQueryValues, type Values } from './pairs.ts'
import { encodeText } from './text.ts'

/** Told to services in place of a content type that is missing or malformed. */
const NO_TYPE = 'text/plain; charset=UTF-8'

/**
 * The request an exchange is, for a service that answers with an `api.Response`.
 *
 * `X-Forwarded-For` is what the plugin `forwarded` made of it.
 *
 * @param body the whole request body.
 * @throws {GatewayError} 400 for a query or a form that is malformed or has more than 256 parts.
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

/** The media type without parameters; one that is missing or malformed is replaced in `header`. */
function typeOf(header: Values): string {
  const media = parseMediaType(header['Content-Type']?.[0] ?? '')
  if (media === undefined) header['Content-Type'] = [NO_TYPE]
  return media?.type ?? ''
}
