import {
  CALL,
  CALL_BYTES,
  CANCEL,
  CREDIT,
  DATA,
  END,
  HEADER_BYTES,
} from '../../core/rpc/ws/frames.ts'
import { writeJson } from '../json/json-source.ts'

/** Encoded frames (docs/protocol.md §2.2). */
export type Bytes = Uint8Array<ArrayBuffer>

const NOTHING: Bytes = new Uint8Array(0)
const utf8 = new TextEncoder()

/** Head of a CALL frame. */
export interface CallHead {
  readonly service: string
  /** Endpoint as `Handler.Method`. */
  readonly endpoint: string
  /** Metadata block. */
  readonly metadata: string
  /** Deadline in milliseconds; 0 for none. */
  readonly timeoutMs: number
  readonly body: Bytes
}

export function formatCall(
  id: number,
  flags: number,
  { service, endpoint, metadata, timeoutMs, body }: CallHead,
): Bytes {
  const names = [service, endpoint, metadata].map(toLatin1)
  const fixed = new DataView(new ArrayBuffer(CALL_BYTES))
  fixed.setUint32(0, timeoutMs, true)
  fixed.setUint16(4, names[0]!.length, true)
  fixed.setUint16(6, names[1]!.length, true)
  fixed.setUint32(8, names[2]!.length, true)
  return formatFrame(CALL, flags, id, [new Uint8Array(fixed.buffer), ...names, body])
}

export function formatData(id: number, body: Bytes): Bytes {
  return formatFrame(DATA, 0, id, [body])
}

export function formatEnd(id: number): Bytes {
  return formatFrame(END, 0, id, [])
}

export function formatCancel(id: number): Bytes {
  return formatFrame(CANCEL, 0, id, [])
}

export function formatCredit(id: number, bytes: number): Bytes {
  const fixed = new DataView(new ArrayBuffer(4))
  fixed.setUint32(0, bytes, true)
  return formatFrame(CREDIT, 0, id, [new Uint8Array(fixed.buffer)])
}

/** Encodes a message as JSON; undefined becomes an empty body. */
export function toBody(message: unknown): Bytes {
  return message === undefined ? NOTHING : utf8.encode(writeJson(message))
}

/** Decodes ISO 8859-1, because `latin1` in `TextDecoder` means Windows-1252. */
export function fromLatin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

function toLatin1(text: string): Bytes {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}

function formatFrame(type: number, flags: number, id: number, pieces: readonly Bytes[]): Bytes {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const header = new DataView(new ArrayBuffer(HEADER_BYTES))
  header.setUint32(0, length, true)
  header.setUint8(4, type)
  header.setUint8(5, flags)
  header.setUint32(8, id, true)
  return join([new Uint8Array(header.buffer), ...pieces])
}

/** Concatenates byte arrays. */
export function join(pieces: readonly Bytes[]): Bytes {
  if (pieces.length === 1) return pieces[0]!
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
