import {
  frameCost,
  type ProtocolError,
  protocolError,
  WINDOW_BYTES,
  WINDOW_MAX_BYTES,
} from './frames.ts'

const OVERDRAWN = protocolError('window is overdrawn')
const WINDOW_TOO_LARGE = protocolError('window is too large')

/** The windows of a call at one end (docs/protocol.md §2.5): what either end may still send. */
export interface CallWindows {
  /** What may be sent until CREDIT comes. */
  sendWindow: number
  /** What the other end may send until it gets CREDIT. */
  receiveWindow: number
  /** What was consumed since the last CREDIT. */
  consumedBytes: number
}

export function openWindows(call: CallWindows): void {
  call.sendWindow = WINDOW_BYTES
  call.receiveWindow = WINDOW_BYTES
  call.consumedBytes = 0
}

/** A body of that many bytes came. Returns a breach of the protocol. */
export function receiveBody(call: CallWindows, bytes: number): ProtocolError | undefined {
  if (call.receiveWindow <= 0) return OVERDRAWN
  call.receiveWindow -= frameCost(bytes)
  return undefined
}

/** A CREDIT came. Returns a breach of the protocol. */
export function receiveCredit(call: CallWindows, bytes: number): ProtocolError | undefined {
  call.sendWindow += bytes
  return call.sendWindow > WINDOW_MAX_BYTES ? WINDOW_TOO_LARGE : undefined
}

/** The program is done with a body of that many bytes. Returns the CREDIT to send; 0: none yet. */
export function consumeBody(call: CallWindows, bytes: number): number {
  // Never more than was received, whatever the program says.
  const owed = WINDOW_BYTES - call.receiveWindow
  const consumed = Math.min(call.consumedBytes + frameCost(bytes), owed)
  const credit = consumed < WINDOW_BYTES / 2 ? 0 : consumed
  call.receiveWindow += credit
  call.consumedBytes = consumed - credit
  return credit
}
