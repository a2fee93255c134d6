import { isUtf8 } from 'node:buffer'
import type { TextEncoding } from './messages.ts'

export interface EncodedText {
  readonly text: string
  /** Undefined for UTF-8. */
  readonly encoding: TextEncoding | undefined
}

/** Encodes bytes as UTF-8 text if valid, otherwise as Base64. */
export function encodeText(bytes: Uint8Array): EncodedText {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return isUtf8(buffer)
    ? { text: buffer.toString(), encoding: undefined }
    : { text: buffer.toString('base64'), encoding: 'base64' }
}

/** Decodes Base64 (RFC 4648 §4) with or without padding. Returns undefined for invalid input. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  // Node.js skips invalid characters, so the input is compared with its canonical encoding.
  const written = bytes.toString('base64')
  return text === written || text === written.replace(/=+$/, '') ? bytes : undefined
}
