import {
  CALL_BYTES,
  FAIL_MAX_BYTES,
  GOAWAY,
  HEADER_BYTES,
  MORE,
  PAYLOAD_MAX_BYTES,
  type ProtocolError,
  protocolError,
  readU32,
  STREAM,
  WS_MESSAGE_MAX_BYTES,
} from './frames.ts'

const TOO_LONG: ProtocolError = { code: 1009, reason: 'frame is too long' }
const INCOMPLETE_FRAME = protocolError('message ends inside a frame')
const EMPTY = protocolError('message without a frame')
const UNKNOWN_TYPE = protocolError('unknown frame type')
const WRONG_FLAGS = protocolError('invalid flags for the frame type')
const RESERVED = protocolError('reserved bytes must be 0')
const WRONG_LENGTH = protocolError('payload does not fit the frame type')

/** By frame type: allowed flags, minimum and maximum payload length. */
const FLAGS = new Uint8Array([0, MORE | STREAM, MORE, 0, 0, 0, 0, 0, 0])
const MIN_BYTES = new Uint8Array([0, CALL_BYTES, 4, 0, 0, 0, 0, 4, 4])
const ANY = 0xffff_ffff
const MAX_BYTES = new Uint32Array([0, ANY, ANY, FAIL_MAX_BYTES, ANY, 0, 0, 4, 4])

/** Receives the frames of a connection. `Bytes`: `Buffer` in Node.js. */
export interface FrameReceiver<Bytes extends Uint8Array> {
  /** Whether reading has stopped. */
  readonly closed: boolean
  /**
   * Handles a frame. Its payload is `bytes` from `start` to `end`, and its length is valid for its type. Reading stops
   * if an error is returned.
   */
  readonly onFrame: (
    type: number,
    flags: number,
    id: number,
    bytes: Bytes,
    start: number,
    end: number,
  ) => ProtocolError | undefined
}

/** Memory for frames that do not fit into a message. */
export interface FrameMemory<Bytes extends Uint8Array> {
  readonly allocate: (bytes: number) => Bytes
  /** Called with the number of buffered bytes of an unfinished frame; 0 if none. */
  readonly onBuffered?: (bytes: number) => void
}

/** Extracts frames from the messages of a connection (docs/protocol.md §2.1). */
export class FrameReader<Bytes extends Uint8Array> {
  readonly #receiver: FrameReceiver<Bytes>
  readonly #payloadMaxBytes: number
  readonly #memory: FrameMemory<Bytes>
  /** An unfinished frame, starting with its header. */
  #frame: Bytes | undefined = undefined
  #filledBytes = 0

  constructor(
    receiver: FrameReceiver<Bytes>,
    memory: FrameMemory<Bytes>,
    payloadMaxBytes: number = PAYLOAD_MAX_BYTES,
  ) {
    this.#receiver = receiver
    this.#memory = memory
    this.#payloadMaxBytes = payloadMaxBytes
  }

  /**
   * Delivers the frames completed by a message. Returns the first violation; the frames before it have been delivered.
   */
  read(message: Bytes): ProtocolError | undefined {
    const { length } = message
    if (length === 0) return EMPTY
    const frame = this.#frame
    if (frame === undefined) return this.#readFrames(message, 0)
    const missing = frame.length - this.#filledBytes
    if (length < missing) return this.#buffer(message, 0, frame)
    frame.set(message.subarray(0, missing), this.#filledBytes)
    this.clear()
    const error = this.#readFrames(frame, 0)
    if (error !== undefined || this.#receiver.closed) return error
    return this.#readFrames(message, missing)
  }

  /** Discards an unfinished frame. */
  clear(): void {
    if (this.#frame === undefined) return
    this.#frame = undefined
    this.#filledBytes = 0
    this.#memory.onBuffered?.(0)
  }

  #readFrames(bytes: Bytes, from: number): ProtocolError | undefined {
    const { length } = bytes
    let at = from
    while (at < length) {
      const start = at + HEADER_BYTES
      if (start > length) return INCOMPLETE_FRAME
      const size = readU32(bytes, at)
      if (size > this.#payloadMaxBytes) return TOO_LONG
      const end = start + size
      const type = bytes[at + 4]!
      const flags = bytes[at + 5]!
      if (type === 0 || type > GOAWAY) return UNKNOWN_TYPE
      if ((flags & ~FLAGS[type]!) !== 0) return WRONG_FLAGS
      if (bytes[at + 6] !== 0 || bytes[at + 7] !== 0) return RESERVED
      if (size < MIN_BYTES[type]! || size > MAX_BYTES[type]!) return WRONG_LENGTH
      if (end > length) return this.#begin(bytes, at, end - at)
      const error = this.#receiver.onFrame(type, flags, readU32(bytes, at + 8), bytes, start, end)
      if (error !== undefined) return error
      if (this.#receiver.closed) return undefined
      at = end
    }
    return undefined
  }

  /**
   * Only a message of the full length may end inside a frame, so that a few bytes cannot reserve memory for a frame.
   */
  #begin(message: Bytes, from: number, frameBytes: number): ProtocolError | undefined {
    if (message.length !== WS_MESSAGE_MAX_BYTES) return INCOMPLETE_FRAME
    this.#frame = this.#memory.allocate(frameBytes)
    return this.#buffer(message, from, this.#frame)
  }

  #buffer(message: Bytes, from: number, frame: Bytes): ProtocolError | undefined {
    if (message.length !== WS_MESSAGE_MAX_BYTES) return INCOMPLETE_FRAME
    frame.set(message.subarray(from), this.#filledBytes)
    this.#filledBytes += message.length - from
    this.#memory.onBuffered?.(this.#filledBytes)
    return undefined
  }
}
