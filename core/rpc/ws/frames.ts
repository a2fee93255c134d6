// Frames of docs/protocol.md §2.2: their constants, and the parser.

/** Frame types. */
export const CALL = 1
export const REPLY = 2
export const FAIL = 3
export const DATA = 4
export const END = 5
export const CANCEL = 6
export const CREDIT = 7
export const GOAWAY = 8

/** Flags of CALL, and MORE of REPLY. */
export const MORE = 1
export const STREAM = 2

/** Bytes before the payload. */
export const HEADER_BYTES = 12
/** Fixed fields of a CALL. */
export const CALL_BYTES = 12
/** Longest payload. */
export const PAYLOAD_MAX_BYTES: number = 16 * 1024 * 1024
/** Longest WebSocket message: one longest frame, and what was packed in front of it. */
export const MESSAGE_MAX_BYTES: number = PAYLOAD_MAX_BYTES + 1024 * 1024
/** Longest metadata block. */
export const METADATA_MAX_BYTES: number = 64 * 1024
/** Longest JSON of an error. */
export const FAIL_MAX_BYTES: number = 64 * 1024
/** Window of each direction of a call, at first. */
export const WINDOW_BYTES = 262_144
export const WINDOW_MAX_BYTES = 2_147_483_647
export const STREAM_ID_MAX = 2_147_483_647
/** Name of the WebSocket subprotocol, and the path it is served at. */
export const SUBPROTOCOL = 'mx.rpc.1'
export const RPC_PATH = '/.mx/rpc'

/** What a DATA takes from the window at least: many tiny bodies cost an end more than their bytes. */
const BODY_COST_MIN = 64

/** What a body of `length` bytes takes from the window. */
export function frameCost(length: number): number {
  return Math.max(length, BODY_COST_MIN)
}

/** A breach of the protocol: ends the connection. */
export interface ProtocolError {
  /** Close code: 1002, or 1009 for what is too long. */
  readonly code: number
  readonly reason: string
}

/** A protocol error. */
export function protocolError(reason: string): ProtocolError {
  return { code: 1002, reason }
}

const TOO_LONG: ProtocolError = { code: 1009, reason: 'frame is too long' }
const CUT = protocolError('message ends inside a frame')
const EMPTY = protocolError('message without a frame')
const UNKNOWN_TYPE = protocolError('unknown frame type')
const WRONG_FLAGS = protocolError('flags the frame type does not have')
const RESERVED = protocolError('reserved bytes must be 0')
const WRONG_LENGTH = protocolError('payload does not fit the frame type')

/** By type: the flags it has, and the least and most bytes of its payload. */
const FLAGS = new Uint8Array([0, MORE | STREAM, MORE, 0, 0, 0, 0, 0, 0])
const MIN_BYTES = new Uint8Array([0, CALL_BYTES, 4, 0, 0, 0, 0, 4, 4])
const ANY = 0xffff_ffff
const MAX_BYTES = new Uint32Array([0, ANY, ANY, FAIL_MAX_BYTES, ANY, 0, 0, 4, 4])

/** Who frames are read for. `Bytes`: those of the program, `Buffer` in Node.js. */
export interface FrameReceiver<Bytes extends Uint8Array> {
  /** No more frames are wanted. */
  readonly closed: boolean
  /** A frame; its payload is `bytes` from `start` to `end`, and its length fits its type. The result ends the reading. */
  readonly onFrame: (
    type: number,
    flags: number,
    id: number,
    bytes: Bytes,
    start: number,
    end: number,
  ) => ProtocolError | undefined
}

/** Reads all frames of a message; tells what is wrong with it. Frames before the wrong one have been delivered. */
export function readFrames<Bytes extends Uint8Array>(
  bytes: Bytes,
  receiver: FrameReceiver<Bytes>,
  payloadMaxBytes: number,
): ProtocolError | undefined {
  const { length } = bytes
  if (length === 0) return EMPTY
  let at = 0
  while (at < length) {
    const start = at + HEADER_BYTES
    if (start > length) return CUT
    const size = readU32(bytes, at)
    if (size > payloadMaxBytes) return TOO_LONG
    const end = start + size
    const type = bytes[at + 4]!
    const flags = bytes[at + 5]!
    if (type === 0 || type > GOAWAY) return UNKNOWN_TYPE
    if ((flags & ~FLAGS[type]!) !== 0) return WRONG_FLAGS
    if (bytes[at + 6] !== 0 || bytes[at + 7] !== 0) return RESERVED
    if (size < MIN_BYTES[type]! || size > MAX_BYTES[type]!) return WRONG_LENGTH
    if (end > length) return CUT
    const breach = receiver.onFrame(type, flags, readU32(bytes, at + 8), bytes, start, end)
    if (breach !== undefined) return breach
    if (receiver.closed) return undefined
    at = end
  }
  return undefined
}

export function readU16(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8)
}

export function readU32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  )
}
