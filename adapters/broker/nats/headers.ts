import type { Msg, MsgHdrs, MsgImpl } from '@nats-io/transport-node'
import type { Message } from '../../../core/contracts/broker.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { createNullProto } from '../../../lib/object/null-proto.ts'

/** First line of a block of headers (NATS ADR-4), and what is behind the fields of one. */
const VERSION = 'NATS/1.0'
const LINE_END = '\r\n'

/** Headers as the library takes them, and their length. */
export interface EncodedHeaders {
  /** Undefined: there are none. */
  readonly headers: MsgHdrs | undefined
  readonly bytes: number
}

const NONE: EncodedHeaders = { headers: undefined, bytes: 0 }

/**
 * Headers on their way out. The library's own would be trimmed, and written as UTF-8: values are bytes, and they are
 * checked already.
 */
export function encodeHeaders(headers: Message['headers']): EncodedHeaders {
  let text = ''
  for (const name in headers) text += `${LINE_END}${name}: ${headers[name]}`
  if (text === '') return NONE
  const block = Buffer.from(`${VERSION}${text}${LINE_END}${LINE_END}`, 'latin1')
  // All the library does with headers it publishes.
  const encoded = { encode: () => block } as unknown as MsgHdrs
  return { headers: encoded, bytes: block.length }
}

/**
 * Headers as they came, read from the bytes for the same reason. Fields that no HTTP message may carry are left out: anybody may
 * publish on a server.
 */
export function readHeaders(message: Msg): Message['headers'] {
  const { _rdata: bytes, _msg } = message as MsgImpl
  const length = _msg.hdr
  if (length <= 0) return {}
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('latin1')
  const fields = new HeaderList()
  for (const line of text.split(LINE_END).slice(1)) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    try {
      fields.append(line.slice(0, colon), line.slice(colon + 1).trim())
    } catch {
      // Left out.
    }
  }
  const headers: Record<string, string> = createNullProto()
  const { flat } = fields
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    const known = headers[name]
    headers[name] = known === undefined ? flat[i + 1]! : `${known}, ${flat[i + 1]!}`
  }
  return headers
}
