import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { quote } from './bad-request.ts'
import { parseParameters, skipToken } from './query/parameters.ts'

/** Format of a request body. */
export type BodyKind = 'json' | 'protobuf' | 'form' | 'multipart'

/** A media type (RFC 9110 §8.3.1). */
export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly type: string
  /** Parameter `charset` in lower case; empty if absent. */
  readonly charset: string
  /** Parameter `boundary`; empty if absent. */
  readonly boundary: string
}

/** A media type and the format of its body. */
export interface RequestType extends MediaType {
  readonly kind: BodyKind
}

/** Content type of web page forms, and the default of command-line tools. */
export const FORM = 'application/x-www-form-urlencoded'
/** Supported media types. */
const KINDS: ReadonlyMap<string, BodyKind> = new Map([
  ['application/json', 'json'],
  ['application/json-rpc', 'json'],
  ['application/grpc+json', 'json'],
  ['application/grpc', 'protobuf'],
  ['application/grpc+proto', 'protobuf'],
  ['application/proto', 'protobuf'],
  ['application/protobuf', 'protobuf'],
  ['application/proto-rpc', 'protobuf'],
  ['application/octet-stream', 'protobuf'],
  [FORM, 'form'],
  ['multipart/form-data', 'multipart'],
])

/** Hint for JSON sent as a form. */
export const ADD_JSON_TYPE = "add -H 'content-type: application/json'"

const ACCEPTED =
  'application/json, application/protobuf, application/x-www-form-urlencoded, multipart/form-data'

const JSON_TYPE: RequestType = { type: 'application/json', charset: '', boundary: '', kind: 'json' }

/**
 * Selects the format of a body by its `Content-Type`; the default is JSON.
 *
 * | media type | read as |
 * |---|---|
 * | `application/json`, `application/json-rpc`, `application/grpc+json` | JSON |
 * | `application/protobuf`, `application/proto`, `application/proto-rpc`, `application/grpc`, `application/grpc+proto`, `application/octet-stream` | protobuf |
 * | `application/x-www-form-urlencoded` | form |
 * | `multipart/form-data` | form with files |
 *
 * Some of these types imply an envelope around the request, see `unwrapEnvelope`.
 *
 * @throws {GatewayError} 415, with the supported types in `Accept` (RFC 9110 §15.5.16), if the type is unsupported or
 *   malformed, or the text is not UTF-8.
 */
export function toRequestType(
  contentType: string | undefined,
  id: string = GATEWAY_ID,
): RequestType {
  // Fast path for nearly all requests, without parsing or allocation.
  if (contentType === undefined || contentType === '' || contentType === 'application/json')
    return JSON_TYPE
  const media = parseMediaType(contentType)
  const kind = media === undefined ? undefined : KINDS.get(media.type)
  if (media === undefined || kind === undefined)
    throw unsupported(id, `content type must be one of ${ACCEPTED}, got ${quote(contentType)}`)
  const { type, charset, boundary } = media
  if (!isUtf8Charset(charset)) throw unsupported(id, `charset must be utf-8, got ${quote(charset)}`)
  return { type, charset, boundary, kind }
}

/** Whether text with this `charset` can be read as UTF-8. */
export function isUtf8Charset(charset: string): boolean {
  return charset === '' || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii'
}

/** Parses a `Content-Type` in linear time. Returns undefined if it is malformed or repeats a parameter. */
export function parseMediaType(text: string): MediaType | undefined {
  const slash = skipToken(text, 0)
  const end = skipToken(text, slash + 1)
  if (slash === 0 || text[slash] !== '/' || end === slash + 1) return undefined
  const parameters = parseParameters(text, end)
  if (parameters === undefined) return undefined
  return {
    type: text.slice(0, end).toLowerCase(),
    charset: parameters.get('charset')?.toLowerCase() ?? '',
    boundary: parameters.get('boundary') ?? '',
  }
}

function unsupported(id: string, detail: string): GatewayError {
  return new GatewayError(id, 415, detail, { headers: ['accept', ACCEPTED] })
}
