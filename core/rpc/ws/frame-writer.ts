import { flushAtTickEnd } from '../../../lib/async/flush-on-tick.ts'
import { acquireBuffer, isPooled, releaseBuffer } from '../../../lib/io/buffer-pool.ts'
import type { FrameSocket } from './frame-socket.ts'
import {
  CALL,
  CALL_BYTES,
  CANCEL,
  CREDIT,
  DATA,
  END,
  FAIL,
  GOAWAY,
  HEADER_BYTES,
  REPLY,
  WS_MESSAGE_MAX_BYTES,
} from './frames.ts'

/**
 * Number of bytes that are sent immediately instead of at the end of the tick. Below half a message, so that no frame
 * header is split between two messages.
 */
const FLUSH_BYTES = 256 * 1024
/** Buffer size per connection. Longer batches borrow memory for the tick. */
const BUFFER_BYTES = 8 * 1024
/** Up to this length, three bytes per character are reserved; longer strings are measured first. */
const MEASURED_MIN = 4096
const NOTHING = Buffer.alloc(0)

/** `Buffer` methods missing in its type declarations, such as `write` without encoding lookup. */
interface Memory extends Buffer {
  latin1Write(text: string, at: number): number
  utf8Write(text: string, at: number): number
}

/** The variable parts of a CALL. */
export interface CallParts {
  readonly service: string
  readonly endpoint: string
  readonly metadata: string
  readonly body: string | Uint8Array
  /** Whether the body is ASCII text. */
  readonly ascii: boolean
}

/** Packed frames waiting for a slow socket. */
interface Sealed {
  readonly memory: Memory
  /** Number of bytes already sent. */
  readonly at: number
  readonly bytes: number
  readonly lastCallId: number
}

/**
 * Packs the frames of a connection into messages (docs/protocol.md §2.1). The frames of a tick are sent together, and
 * the messages of all connections consecutively.
 *
 * Arguments are not validated, except the length of payloads: if one is too long, the method returns false and writes
 * nothing. Memory may be reused after the call.
 */
export class FrameWriter {
  /** Whether the socket is slow, so that frames are buffered until {@link drained} is called. */
  blocked = false
  /** Stream id of the last CALL passed to the socket. */
  sentCallId = 0
  readonly #socket: FrameSocket
  readonly #payloadMaxBytes: number
  #buffer: Memory | undefined = undefined
  #memory: Memory = NOTHING as Memory
  #used = 0
  #lastCallId = 0
  // Names of the last CALL, joined.
  #service = ''
  #endpoint = ''
  #names = ''
  #sealed: Sealed[] = []
  #sealedBytes = 0
  #closed = false

  constructor(socket: FrameSocket, payloadMaxBytes: number) {
    this.#socket = socket
    this.#payloadMaxBytes = payloadMaxBytes
  }

  /** Number of buffered frame bytes. */
  get waitingBytes(): number {
    return this.#sealedBytes + this.#used
  }

  /** @param timeoutMs milliseconds left; 0 for no deadline. */
  call(id: number, flags: number, timeoutMs: number, parts: CallParts): boolean {
    const { service, endpoint, metadata, ascii } = parts
    // Usually the same names as in the last call.
    if (service !== this.#service || endpoint !== this.#endpoint) {
      this.#service = service
      this.#endpoint = endpoint
      this.#names = service + endpoint
    }
    // One string, so that a single write crosses into the runtime.
    const text = ascii ? this.#names + metadata + parts.body : this.#names + metadata
    const body = ascii ? NOTHING : parts.body
    const fixed = CALL_BYTES + text.length
    const at = this.#reserve(fixed, body)
    if (at < 0) return false
    const memory = this.#memory
    const start = at + HEADER_BYTES
    writeU32(memory, start, Math.min(Math.ceil(timeoutMs), 0xffff_ffff))
    memory[start + 4] = service.length
    memory[start + 5] = service.length >>> 8
    memory[start + 6] = endpoint.length
    memory[start + 7] = endpoint.length >>> 8
    writeU32(memory, start + 8, metadata.length)
    memory.latin1Write(text, start + CALL_BYTES)
    this.#lastCallId = id
    this.#finish(CALL, flags, id, at, fixed + writeBody(memory, start + fixed, body))
    return true
  }

  reply(id: number, flags: number, metadata: string, body: string | Uint8Array): boolean {
    const fixed = 4 + metadata.length
    const at = this.#reserve(fixed, body)
    if (at < 0) return false
    const memory = this.#memory
    const start = at + HEADER_BYTES
    writeU32(memory, start, metadata.length)
    if (metadata !== '') memory.latin1Write(metadata, start + 4)
    this.#finish(REPLY, flags, id, at, fixed + writeBody(memory, start + fixed, body))
    return true
  }

  /** @param json JSON of an error. */
  fail(id: number, json: string): boolean {
    return this.#body(FAIL, id, json) >= 0
  }

  /** @returns the number of body bytes, or -1 if the body is too long. */
  data(id: number, body: string | Uint8Array): number {
    return this.#body(DATA, id, body)
  }

  end(id: number): void {
    this.#body(END, id, NOTHING)
  }

  cancel(id: number): void {
    this.#body(CANCEL, id, NOTHING)
  }

  credit(id: number, bytes: number): void {
    this.#number(CREDIT, id, bytes)
  }

  goAway(lastId: number): void {
    this.#number(GOAWAY, 0, lastId)
  }

  /** Sends the buffered frames, or packs them for a slow socket. */
  flush(): void {
    if (this.#used === 0) return
    if (this.blocked) {
      if (this.#used > FLUSH_BYTES) this.#seal()
      return
    }
    const memory = this.#memory
    const bytes = this.#used
    // Reset before sending, because the socket may close and its callbacks may write.
    this.#used = 0
    this.#memory = this.#buffer ?? (NOTHING as Memory)
    this.#send(memory, 0, bytes, this.#lastCallId)
  }

  /** Call when the socket accepts more. */
  drained(): void {
    this.blocked = false
    while (!this.blocked && this.#sealed.length > 0) {
      const { memory, at, bytes, lastCallId } = this.#sealed.shift()!
      this.#sealedBytes -= bytes - at
      this.#send(memory, at, bytes, lastCallId)
    }
    if (!this.blocked) this.flush()
  }

  /** Discards buffered and future frames. */
  close(): void {
    this.#closed = true
    this.#used = 0
    this.#sealed = []
    this.#sealedBytes = 0
    this.#memory = NOTHING as Memory
    this.#buffer = undefined
  }

  /** Sends frames in messages of limited length. Messages after a blocked message wait. */
  #send(memory: Memory, from: number, bytes: number, lastCallId: number): void {
    this.sentCallId = lastCallId
    let at = from
    while (at < bytes && !this.blocked && !this.#closed) {
      const end = Math.min(at + WS_MESSAGE_MAX_BYTES, bytes)
      if (!this.#socket.send(memory.subarray(at, end), true)) this.blocked = true
      at = end
    }
    if (this.#closed) return
    if (at < bytes) {
      this.#sealed.unshift({ memory, at, bytes, lastCallId })
      this.#sealedBytes += bytes - at
    } else if (memory !== this.#buffer && isPooled(memory.length)) releaseBuffer(memory)
  }

  #seal(): void {
    const bytes = this.#used
    this.#sealed.push({ memory: this.#memory, at: 0, bytes, lastCallId: this.#lastCallId })
    this.#sealedBytes += bytes
    this.#used = 0
    if (this.#memory === this.#buffer) this.#buffer = undefined
    this.#memory = this.#buffer ?? (NOTHING as Memory)
  }

  #body(type: number, id: number, body: string | Uint8Array): number {
    const at = this.#reserve(0, body)
    if (at < 0) return -1
    const bytes = writeBody(this.#memory, at + HEADER_BYTES, body)
    this.#finish(type, 0, id, at, bytes)
    return bytes
  }

  #number(type: number, id: number, value: number): void {
    const at = this.#reserve(4, NOTHING)
    writeU32(this.#memory, at + HEADER_BYTES, value)
    this.#finish(type, 0, id, at, 4)
  }

  /**
   * Reserves a frame with `fixed` bytes before its body.
   *
   * @returns its offset, or -1 if the payload is too long.
   */
  #reserve(fixed: number, body: string | Uint8Array): number {
    let most = body.length
    if (typeof body === 'string') most = most < MEASURED_MIN ? most * 3 : Buffer.byteLength(body)
    if (fixed + most > this.#payloadMaxBytes) {
      if (typeof body !== 'string') return -1
      most = Buffer.byteLength(body)
      if (fixed + most > this.#payloadMaxBytes) return -1
    }
    const at = this.#used
    const needed = at + HEADER_BYTES + fixed + most
    if (needed > this.#memory.length) this.#grow(needed)
    return at
  }

  #grow(needed: number): void {
    if (needed <= BUFFER_BYTES && this.#buffer === undefined) {
      this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES) as Memory
      this.#memory = this.#buffer
      return
    }
    const before = this.#memory
    const grown = needed <= 2 ** 20 ? acquireBuffer(needed) : Buffer.allocUnsafeSlow(needed)
    before.copy(grown, 0, 0, this.#used)
    if (before !== this.#buffer && isPooled(before.length)) releaseBuffer(before)
    this.#memory = grown as Memory
  }

  #finish(type: number, flags: number, id: number, at: number, payloadBytes: number): void {
    const memory = this.#memory
    writeU32(memory, at, payloadBytes)
    memory[at + 4] = type
    memory[at + 5] = flags
    memory[at + 6] = 0
    memory[at + 7] = 0
    writeU32(memory, at + 8, id)
    const used = at + HEADER_BYTES + payloadBytes
    this.#used = used
    if (used > FLUSH_BYTES) this.flush()
    // Frames for a blocked socket are sent when it has drained.
    else if (at === 0 && !this.blocked) flushAtTickEnd(this)
  }
}

function writeBody(memory: Memory, at: number, body: string | Uint8Array): number {
  if (body.length === 0) return 0
  if (typeof body === 'string') return memory.utf8Write(body, at)
  memory.set(body, at)
  return body.length
}

function writeU32(memory: Uint8Array, at: number, value: number): void {
  memory[at] = value
  memory[at + 1] = value >>> 8
  memory[at + 2] = value >>> 16
  memory[at + 3] = value >>> 24
}
