import { isUtf8 } from 'node:buffer'
import type { TextEncoding } from './messages.ts'

/** Bytes as a text of JSON holds them. */
export interface EncodedText {
  readonly text: string
  /** Undefined: the bytes are UTF-8. */
  readonly encoding: TextEncoding | undefined
}

/** As text where the bytes are UTF-8, else in Base64. */
export function encodeText(bytes: Uint8Array): EncodedText {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return isUtf8(buffer)
    ? { text: buffer.toString(), encoding: undefined }
    : { text: buffer.toString('base64'), encoding: 'base64' }
}

/** The bytes of Base64 (RFC 4648 §4), padded or not; undefined when it is none. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  // What Node leaves out is missing when it is written again.
  const written = bytes.toString('base64')
  return text === written || text === written.replace(/=+$/, '') ? bytes : undefined
}
