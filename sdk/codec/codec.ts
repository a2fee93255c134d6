import { formatJson } from '../../core/request/json/int64.ts'
import { parseJson, type RestoreNumbers } from '../../core/request/json/json.ts'
import { WrittenJson } from '../../core/request/json/written-json.ts'
import { badRequest } from '../errors.ts'
import type { MessageCodec } from '../schema/schema.ts'

/** How messages are written on the wire: between bytes and the values JSON knows. */
export interface Codec {
  /** Media type of what it writes. */
  readonly contentType: string
  /**
   * Reads a body.
   *
   * @param id the id of errors.
   * @param restore for numbers of JSON; what it throws is thrown.
   * @throws {GatewayError} 400 when it cannot be read.
   */
  readonly decode: (body: string | Uint8Array, id: string, restore?: RestoreNumbers) => unknown
  /**
   * Writes a message; of `undefined` an empty one.
   *
   * @throws {TypeError} when it is nothing a message can be.
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
    if (value instanceof WrittenJson) return value.text
    try {
      const text = JSON.stringify(value)
      if (text === undefined || text === 'null' || text === EMPTY) refuseNothing(value)
      return text ?? EMPTY
    } catch (error) {
      // A bigint no schema turned into what JSON has (reference 15.11).
      if (error instanceof TypeError && error.message.includes('BigInt')) return formatJson(value)
      throw error
    }
  },
}

/**
 * Refuses what JSON makes `null`, `{}` or nothing of without a word: as a whole message that is a mistake. What is inside
 * a message is a schema's to judge.
 *
 * @throws {TypeError} saying what it is.
 */
function refuseNothing(value: unknown): void {
  if (value === null) return
  const kind =
    typeof value === 'number'
      ? String(value)
      : Object.prototype.toString.call(value).slice('[object '.length, -1)
  const { toJSON } = value as { toJSON?: unknown }
  if (kind === 'Object' || typeof toJSON === 'function') return
  throw new TypeError(`a message must be something JSON can say, got ${kind}`)
}

/** Protobuf, of one message. An empty body is a message without fields. */
export function createProtobufCodec(message: MessageCodec): Codec {
  return {
    contentType: 'application/protobuf',
    decode(body, id) {
      try {
        return message.decode(typeof body === 'string' ? Buffer.from(body) : body)
      } catch (cause) {
        const why = cause instanceof Error ? `: ${cause.message.slice(0, 100)}` : ''
        throw badRequest(id, `request body must be the protobuf message${why}`, { cause })
      }
    },
    encode: (value) => message.encode(value ?? {}),
  }
}
