import type { Msg, MsgHdrs, MsgImpl } from '@nats-io/transport-node'
import type { Message } from '../../../core/contracts/broker.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { createNullProto } from '../../../lib/object/null-proto.ts'

/** First line of a header block (NATS ADR-4). */
const VERSION = 'NATS/1.0'
const LINE_END = '\r\n'

/** Encoded headers as the library expects them, with their length in bytes. */
export interface EncodedHeaders {
  /** Undefined if there are no headers. */
  readonly headers: MsgHdrs | undefined
  readonly bytes: number
}

const NONE: EncodedHeaders = { headers: undefined, bytes: 0 }

/**
 * Encodes headers as bytes. The library's own encoder would trim values and write them as UTF-8.
 * Headers are already validated here.
 */
export function encodeHeaders(headers: Message['headers']): EncodedHeaders {
  let text = ''
  for (const name in headers) text += `${LINE_END}${name}: ${headers[name]}`
  if (text === '') return NONE
  const block = Buffer.from(`${VERSION}${text}${LINE_END}${LINE_END}`, 'latin1')
  // The only method the library calls on published headers.
  const encoded = { encode: () => block } as unknown as MsgHdrs
  return { headers: encoded, bytes: block.length }
}

/**
 * Decodes headers from bytes, because the library's decoder would read values as UTF-8. Headers
 * that are invalid in HTTP are omitted: any client of the server can publish.
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
      // Invalid headers are omitted.
    }
  }
  const headers: Record<string, string> = createNullProto()
  const { flat } = fields
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    const existing = headers[name]
    headers[name] = existing === undefined ? flat[i + 1]! : `${existing}, ${flat[i + 1]!}`
  }
  return headers
}
