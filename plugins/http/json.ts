import type { BodyChange } from '../../core/chain.ts'
import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { HeaderList } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { badRequest } from '../../core/request/bad-request.ts'
import { tooLarge } from '../../core/request/incoming-request.ts'
import { parseLocated } from '../../core/request/json/exact-json.ts'
import { isUtf8Charset, parseMediaType } from '../../core/request/media-type.ts'
import { decodeUtf8 } from '../../core/request/utf8.ts'
import { Type } from '../../core/schema.ts'
import { parseSize } from '../../lib/text/units.ts'
import { compileEdits } from './json/edit-json.ts'

/** A larger document would block other requests for too long: 1 MiB takes 10 to 100 ms. */
const LIMIT_MAX_BYTES = 1024 * 1024

const values = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { default: {}, description })

const edits = Type.Object({
  remove: Type.Array(Type.String(), {
    default: [],
    description: "Fields to remove, such as user.name, items[*].price or ['a.b'].",
  }),
  rename: Type.Record(Type.String(), Type.String(), {
    default: {},
    description: 'Fields to rename, with the new name in the same object.',
  }),
  set: values('Fields to set, replacing existing ones. Missing objects are created.'),
  add: values('Fields to set if they do not exist.'),
})

const options = Type.Object({
  request: Type.Optional(edits),
  reply: Type.Optional(edits),
  limit: Type.Union([Type.String(), Type.Integer({ minimum: 1 })], {
    default: '64kb',
    description:
      'Maximum size of a JSON body, up to 1mb. Longer requests are rejected with 413; longer responses become a 502.',
  }),
})

/** Media types with a JSON suffix whose bodies consist of several framed documents. */
const FRAMED: ReadonlySet<string> = new Set([
  'application/connect+json',
  'application/grpc+json',
  'application/grpc-web+json',
  'application/stream+json',
])

/**
 * Removes, renames, sets and adds fields of JSON bodies. Bodies with another type, another charset or a content coding
 * are not changed. With `reply`, services are requested to send responses that are neither compressed nor partial.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'json',
  description: 'Removes, renames, sets and adds fields of JSON requests and responses.',
  options,
  create({ request, reply, limit: text }) {
    const maxBytes = parseLimit(text)
    const editRequest = request && within('request', () => compileEdits(request))
    const editReply = reply && within('reply', () => compileEdits(reply))
    if (editRequest === undefined && editReply === undefined) return {}
    // An unreadable response would contain the fields.
    const hidesFields =
      reply !== undefined && reply.remove.length + Object.keys(reply.rename).length > 0
    const change: BodyChange | undefined = editReply && {
      maxBytes,
      change: (body) => editResponse(body, editReply, hidesFields),
    }
    const reject: BodyChange | undefined = hidesFields
      ? { maxBytes, change: () => fail('compressed, or not in UTF-8') }
      : undefined
    return {
      onRoute(x) {
        if (change !== undefined) {
          x.headers.set('accept-encoding', 'identity')
          x.headers.delete('range')
          x.headers.delete('if-range')
        }
        return editRequest === undefined ? undefined : changeRequest(x, editRequest, maxBytes)
      },
      ...(change && {
        // A 304 has no content type. Its entity tag must match the changed response.
        onReplyBody({ status, replyHeaders }) {
          if (status === 304 || isJson(replyHeaders)) return change
          return isJsonType(replyHeaders) ? reject : undefined
        },
      }),
    }
  },
})

export default plugin

type Edit = (text: string) => string

function changeRequest(x: Exchange, edit: Edit, maxBytes: number): Promise<void> | undefined {
  const target = x.explicitTarget
  if (target?.request !== undefined) {
    // Parsed by the route step of `/rpc`.
    const bytes = Buffer.byteLength(target.request)
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    x.explicitTarget = { ...target, request: edit(target.request) }
    return undefined
  }
  // Handlers for calls read a body without a content type as JSON.
  const isUntyped = !x.proxied && !x.headers.has('content-type')
  if (x.bodyLength === 0 || target !== undefined || !(isUntyped || isJson(x.headers)))
    return undefined
  return x.readBody(maxBytes).then((body) => {
    if (body.length === 0) return
    const text = decodeUtf8(body, 'request body', GATEWAY_ID)
    try {
      parseLocated(text)
    } catch (error) {
      const { message } = error as SyntaxError
      throw badRequest(GATEWAY_ID, `request body must be JSON: ${message}`, error)
    }
    x.replaceBody(edit(text))
  })
}

/**
 * Returns undefined for a body that is not JSON.
 *
 * @throws {GatewayError} 502 for such a body if it must not contain the fields.
 */
function editResponse(body: Uint8Array, edit: Edit, hidesFields: boolean): string | undefined {
  let text: string
  try {
    text = decodeUtf8(body, 'response body', GATEWAY_ID)
    JSON.parse(text)
  } catch {
    return hidesFields ? fail('not valid JSON') : undefined
  }
  return edit(text)
}

function fail(reason: string): never {
  const detail = `the service response is ${reason}, so fields cannot be removed`
  throw new GatewayError(GATEWAY_ID, 502, detail)
}

/** Whether a body is readable JSON. */
function isJson(headers: HeaderList): boolean {
  const coding = headers.get('content-encoding')
  if (coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity') return false
  const contentType = headers.get('content-type')
  if (contentType === 'application/json') return true
  if (!isJsonType(headers)) return false
  return isUtf8Charset(parseMediaType(contentType!)!.charset)
}

function isJsonType(headers: HeaderList): boolean {
  const contentType = headers.get('content-type')
  const media = contentType === undefined ? undefined : parseMediaType(contentType)
  if (media === undefined) return false
  const { type } = media
  if (type === 'application/json' || type === 'text/json') return true
  return type.endsWith('+json') && !FRAMED.has(type)
}

function parseLimit(text: string | number): number {
  let bytes: number
  try {
    bytes = parseSize(text)
  } catch (error) {
    throw new RangeError(`limit ${(error as Error).message}`, { cause: error })
  }
  if (bytes > 0 && bytes <= LIMIT_MAX_BYTES) return bytes
  throw new RangeError(`limit must be from 1 byte to 1mb, got ${text}`)
}

function within<T>(option: string, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    throw new TypeError(`${option}: ${(error as Error).message}`, { cause: error })
  }
}
