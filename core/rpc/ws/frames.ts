// Constants of the frames in docs/protocol.md §2.2.

/** Frame types. */
export const CALL = 1
export const REPLY = 2
export const FAIL = 3
export const DATA = 4
export const END = 5
export const CANCEL = 6
export const CREDIT = 7
export const GOAWAY = 8

/** Flags of CALL; MORE is also a flag of REPLY. */
export const MORE = 1
export const STREAM = 2

/** Header size, before the payload. */
export const HEADER_BYTES = 12
/** Size of the fixed part of a CALL. */
export const CALL_BYTES = 12
/** Maximum payload size. */
export const PAYLOAD_MAX_BYTES: number = 16 * 1024 * 1024
/** Maximum WebSocket message size. A frame that does not fit continues in the next messages. */
export const WS_MESSAGE_MAX_BYTES: number = 512 * 1024
/** Maximum size of a metadata block. */
export const METADATA_MAX_BYTES: number = 64 * 1024
/** Maximum size of the JSON of an error. */
export const FAIL_MAX_BYTES: number = 64 * 1024
/** Initial window in each direction of a call. */
export const WINDOW_BYTES = 262_144
export const WINDOW_MAX_BYTES = 2_147_483_647
export const STREAM_ID_MAX = 2_147_483_647
/** WebSocket subprotocol, and the path at which it is served. */
export const SUBPROTOCOL = 'mx.rpc.1'
export const RPC_PATH = '/.mx/rpc'

/** Minimum window cost of a DATA frame, since many tiny bodies cost more than their bytes. */
const BODY_COST_MIN = 64

/** Window cost of a body of `length` bytes. */
export function frameCost(length: number): number {
  return Math.max(length, BODY_COST_MIN)
}

/** A protocol violation that ends the connection. */
export interface ProtocolError {
  /** Close code: 1002, or 1009 for messages that are too long. */
  readonly code: number
  readonly reason: string
}

export function protocolError(reason: string): ProtocolError {
  return { code: 1002, reason }
}

export const TEXT_MESSAGE: ProtocolError = protocolError('message must be binary')
export const UNEXPECTED_TYPE: ProtocolError = protocolError('unexpected frame type from this peer')
export const UNKNOWN_STREAM: ProtocolError = protocolError('stream id was never used')
export const METADATA_TOO_LONG: ProtocolError = protocolError('metadata is too long')
export const WRONG_RESPONSE: ProtocolError = protocolError('response does not match the call')

export function readU16(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8)
}

export function readU32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  )
}
