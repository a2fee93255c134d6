import {
  frameCost,
  type ProtocolError,
  protocolError,
  WINDOW_BYTES,
  WINDOW_MAX_BYTES,
} from './frames.ts'

const WINDOW_EXCEEDED = protocolError('window is overdrawn')
const WINDOW_TOO_LARGE = protocolError('window is too large')

/** Flow-control windows of a call at one end (docs/protocol.md §2.5). */
export interface CallWindows {
  /** Bytes that may be sent before the next CREDIT. */
  sendWindow: number
  /** Bytes that the peer may send before it receives the next CREDIT. */
  receiveWindow: number
  /** Bytes consumed since the last CREDIT. */
  consumedBytes: number
}

export function openWindows(call: CallWindows): void {
  call.sendWindow = WINDOW_BYTES
  call.receiveWindow = WINDOW_BYTES
  call.consumedBytes = 0
}

/** Accounts for a received body. Returns an error on a protocol violation. */
export function receiveBody(call: CallWindows, bytes: number): ProtocolError | undefined {
  if (call.receiveWindow <= 0) return WINDOW_EXCEEDED
  call.receiveWindow -= frameCost(bytes)
  return undefined
}

/** Applies a CREDIT. Returns an error on a protocol violation. */
export function receiveCredit(call: CallWindows, bytes: number): ProtocolError | undefined {
  call.sendWindow += bytes
  return call.sendWindow > WINDOW_MAX_BYTES ? WINDOW_TOO_LARGE : undefined
}

/** Accounts for a consumed body. Returns the CREDIT to send; 0 if none yet. */
export function consumeBody(call: CallWindows, bytes: number): number {
  // Bounded by the bytes received, regardless of the values reported by the program.
  const owed = WINDOW_BYTES - call.receiveWindow
  const consumed = Math.min(call.consumedBytes + frameCost(bytes), owed)
  const credit = consumed < WINDOW_BYTES / 2 ? 0 : consumed
  call.receiveWindow += credit
  call.consumedBytes = consumed - credit
  return credit
}
