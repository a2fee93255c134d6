import { GATEWAY_ID } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { parsePairs } from '../request/query.ts'
import { decodeUtf8 } from '../request/utf8.ts'
import type { ApiRequest } from './messages.ts'
import { groupValues, toHeaderValues, toPairs, toQueryValues, type Values } from './pairs.ts'
import { encodeText } from './text.ts'

/** A media type with or without parameters (RFC 9110 §8.3.1). */
const MEDIA_TYPE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+\/[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*(?:;|$)/
const FORM = 'application/x-www-form-urlencoded'
/** Told to services in place of a content type that is missing or malformed. */
const NO_TYPE = 'text/plain; charset=UTF-8'

/**
 * The request an exchange is, for a service that answers with an `api.Response`.
 *
 * `X-Forwarded-For` is what the plugin `forwarded` made of it.
 *
 * @param body the whole request body.
 * @param binary how a body that is no UTF-8 is told: in Base64 for JSON, or as bytes for protobuf.
 * @throws {GatewayError} 400 for a query or a form that is malformed or has more than 256 parts.
 */
export function toApiRequest(
  x: Exchange,
  body: Uint8Array,
  binary: 'base64' | 'bytes' = 'base64',
): ApiRequest {
  const header = toHeaderValues(x)
  const isForm = typeOf(header) === FORM
  const get = toQueryValues(x)
  const post = isForm ? readForm(body, x.route?.service ?? GATEWAY_ID) : Object.create(null)
  const { text, encoding } = isForm ? NO_TEXT : encodeText(body)
  const isBytes = encoding !== undefined && binary === 'bytes'
  return {
    method: x.method,
    path: x.path,
    header: toPairs(header),
    get: toPairs(get),
    post: toPairs(post),
    body: isBytes ? body : text,
    ...(encoding !== undefined && !isBytes && { encoding }),
    url: x.target,
  }
}

const NO_TEXT = { text: '', encoding: undefined }

/** The media type in lower case, without parameters; one that is none is replaced. */
function typeOf(header: Values): string {
  const given = header['Content-Type']?.[0]
  if (given === undefined || !MEDIA_TYPE.test(given)) {
    header['Content-Type'] = [NO_TYPE]
    return ''
  }
  return given.split(';', 1)[0]!.trimEnd().toLowerCase()
}

function readForm(body: Uint8Array, id: string): Values {
  const pairs = parsePairs(decodeUtf8(body, 'the form', id), 'form field', id)
  return groupValues(pairs, 'a form field', id)
}
