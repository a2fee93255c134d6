import { formatInt64Json } from '../../core/request/json/int64.ts'
import { parseJson, type RestoreNumbers } from '../../core/request/json/json.ts'
import { RawJson } from '../../core/request/json/written-json.ts'
import { badRequest } from '../errors.ts'
import type { MessageCodec } from '../schema/schema.ts'

/** Converts between the bytes of a message and JSON values. */
export interface Codec {
  /** Media type of encoded messages. */
  readonly contentType: string
  /**
   * Decodes a body.
   *
   * @param id error id.
   * @param restore handles numbers that exceed double precision; its errors are rethrown.
   * @throws {GatewayError} 400 for malformed input.
   */
  readonly decode: (body: string | Uint8Array, id: string, restore?: RestoreNumbers) => unknown
  /**
   * Encodes a message; `undefined` is encoded as an empty message.
   *
   * @throws {TypeError} for a value that is not a message.
   */
  readonly encode: (value: unknown) => string | Uint8Array
}

const EMPTY = '{}'

/** JSON. An empty body is a message without fields. */
export const json: Codec = {
  contentType: 'application/json',
  decode: (body, id, restore) =>
    body.length === 0 ? {} : parseJson(body, 'request body', id, restore),
  encode(value) {
    if (value === undefined) return EMPTY
    if (value instanceof RawJson) return value.text
    try {
      const text = JSON.stringify(value)
      if (text === undefined || text === 'null' || text === EMPTY) rejectEmpty(value)
      return text ?? EMPTY
    } catch (error) {
      // The value contains a bigint that no schema has converted (reference 15.11).
      if (error instanceof TypeError && error.message.includes('BigInt'))
        return formatInt64Json(value)
      throw error
    }
  },
}

/**
 * Rejects values that JSON silently turns into `null`, `{}` or nothing, since they are mistakes as messages. The schema
 * validates nested values.
 */
function rejectEmpty(value: unknown): void {
  if (value === null) return
  const kind =
    typeof value === 'number'
      ? String(value)
      : Object.prototype.toString.call(value).slice('[object '.length, -1)
  const { toJSON } = value as { toJSON?: unknown }
  if (kind === 'Object' || typeof toJSON === 'function') return
  throw new TypeError(`a message must be a JSON value, got ${kind}`)
}

/** Protobuf codec of a message type. An empty body is a message without fields. */
export function createProtobufCodec(message: MessageCodec): Codec {
  return {
    contentType: 'application/protobuf',
    decode(body, id) {
      try {
        return message.decode(typeof body === 'string' ? Buffer.from(body) : body)
      } catch (cause) {
        const reason = cause instanceof Error ? `: ${cause.message.slice(0, 100)}` : ''
        throw badRequest(id, `request body must be the protobuf message${reason}`, { cause })
      }
    },
    encode: (value) => message.encode(value ?? {}),
  }
}
