import { replyMemory } from '../../limits/memory-budget.ts'
import { countBuffered, type RequestBuffer } from '../../limits/request-buffers.ts'
import { ABNORMAL, isCloseCode, TOO_BIG, TRY_AGAIN_LATER, toReason } from './close-codes.ts'
import { CLIENT_HIGH_BYTES, CLIENT_LOW_BYTES, STALL_MAX_MS, type TrafficMeter } from './limits.ts'
import type { ServerSocket, SocketReceiver } from './session.ts'

/** Memory overhead of a buffered message. */
const MESSAGE_COST_BYTES = 256

/** A message that arrived while the client was paused. */
interface Queued {
  readonly data: Uint8Array
  readonly binary: boolean
}

/** Base class of accepted WebSockets, independent of the library that frames them. */
export abstract class AcceptedSocket implements ServerSocket {
  readonly #meter: TrafficMeter
  readonly #receiver: SocketReceiver
  readonly #maxMessageBytes: number
  readonly #onSettled: (aborted: boolean) => void
  /** Whether the receiver was, or is being, notified of the end. */
  #hasEnded = false
  /** Whether `send` returned false. */
  #blocked = false
  #paused = false
  /** Timer that runs while the client is paused. */
  #stall: NodeJS.Timeout | undefined = undefined
  /** Undelivered messages. The client is not read until all are delivered. */
  #queue: Queued[] = []
  /** Memory accounting of the queue; undefined until the first message is queued. */
  #queueBuffer: RequestBuffer | undefined = undefined
  /** Bytes counted in `replyMemory`. */
  #waitingBytes = 0

  /** @param onSettled called once after the receiver's `onClose`; `aborted` if there was no close frame. */
  constructor(
    meter: TrafficMeter,
    receiver: SocketReceiver,
    maxMessageBytes: number,
    onSettled: (aborted: boolean) => void,
  ) {
    this.#meter = meter
    this.#receiver = receiver
    this.#maxMessageBytes = maxMessageBytes
    this.#onSettled = onSettled
  }

  abstract get bufferedBytes(): number

  send(data: string | Uint8Array, binary: boolean): boolean {
    if (this.#hasEnded) return false
    // Encoded here because the library would encode a lone surrogate as invalid UTF-8.
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    if (this.#isTooLong(bytes)) this.close(TOO_BIG, 'message too long')
    else if (this.#exceedsBuffer(bytes)) this.close(TRY_AGAIN_LATER, 'the client is too slow')
    else this.#transmit(bytes, binary)
    return !this.#hasEnded && !this.#blocked
  }

  sendAll(messages: readonly Uint8Array[], binary: boolean): boolean {
    if (this.#hasEnded) return false
    let sent = 0
    // Must not end the WebSocket inside `cork`, because the library would write its buffer to a closed socket.
    this.cork(() => {
      for (const message of messages) {
        if (this.#isTooLong(message) || this.#exceedsBuffer(message)) return
        this.#transmit(message, binary)
        sent++
      }
    })
    while (sent < messages.length) this.send(messages[sent++]!, binary)
    return !this.#hasEnded && !this.#blocked
  }

  close(code: number, reason: string): void {
    if (!isCloseCode(code))
      throw new TypeError(
        `close code must be 1000 to 1003, 1005, 1007 to 1014 or 3000 to 4999, got ${code}`,
      )
    if (this.#hasEnded) return
    const text = toReason(reason)
    this.#discardInput()
    this.#hasEnded = true
    this.transmitClose(code, text)
    this.#end(code, text, false)
  }

  terminate(): void {
    if (this.#hasEnded) return
    this.#discardInput()
    this.#hasEnded = true
    this.closeConnection()
    this.#end(ABNORMAL, '', true)
  }

  pause(): void {
    if (this.#paused || this.#hasEnded) return
    this.#paused = true
    this.pauseRead()
    this.#stall = setTimeout(() => {
      this.close(TRY_AGAIN_LATER, 'paused for too long')
    }, STALL_MAX_MS).unref()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    clearTimeout(this.#stall)
    if (this.#queue.length === 0) this.resumeRead()
    else setImmediate(() => this.#deliver())
  }

  /** Whether the client is paused. */
  protected get paused(): boolean {
    return this.#paused
  }

  /** Called by libraries with a complete message. */
  protected receive(data: Uint8Array, binary: boolean): void {
    if (this.#hasEnded) return
    this.#meter.bytesIn += data.length
    if (data.length > this.#maxMessageBytes) this.close(TOO_BIG, 'message too long')
    else if (this.#paused || this.#queue.length > 0) this.#enqueue(data, binary)
    else this.#receiver.onMessage(data, binary)
  }

  /** Called by libraries when fewer bytes than before are buffered for the client. */
  protected drained(): void {
    if (!this.#blocked || this.#hasEnded) return
    const { bufferedBytes } = this
    const isSlow = bufferedBytes > CLIENT_LOW_BYTES
    // No event reports when the rest is sent to a client that is no longer slow.
    this.#count(isSlow ? bufferedBytes : 0)
    if (isSlow) return
    this.#blocked = false
    this.#receiver.onDrain()
  }

  /** Called by libraries when the client has closed its side or violated the protocol. */
  protected closed(code: number, reason: string, aborted: boolean): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    clearTimeout(this.#stall)
    const queue = this.#queue
    this.#dropBuffered()
    for (const { data, binary } of queue) this.#receiver.onMessage(data, binary)
    this.#end(code, reason, aborted)
  }

  /**
   * Writes a message without retaining its memory. Returns false if it was not written completely, or if that is
   * unknown.
   */
  protected abstract transmit(data: Uint8Array, binary: boolean): boolean
  /** Runs `write` and sends its messages together. */
  protected abstract cork(write: () => void): void
  /** Sends a close frame after the buffered bytes. `code` 1005 sends no code. */
  protected abstract transmitClose(code: number, reason: string): void
  protected abstract closeConnection(): void
  protected abstract pauseRead(): void
  protected abstract resumeRead(): void

  #isTooLong({ length }: Uint8Array): boolean {
    return length > this.#maxMessageBytes
  }

  #exceedsBuffer({ length }: Uint8Array): boolean {
    return this.#blocked && this.bufferedBytes + length > this.#maxMessageBytes + CLIENT_HIGH_BYTES
  }

  #transmit(data: Uint8Array, binary: boolean): void {
    this.#meter.bytesOut += data.length
    if (this.transmit(data, binary)) return
    const { bufferedBytes } = this
    if (bufferedBytes <= CLIENT_HIGH_BYTES) return
    this.#blocked = true
    this.#count(bufferedBytes)
  }

  #enqueue(data: Uint8Array, binary: boolean): void {
    this.#queue.push({ data: Uint8Array.prototype.slice.call(data), binary })
    this.#queueBuffer ??= {
      bufferedBytes: 0,
      isDroppable: true,
      dropBufferedBody: () =>
        this.close(TRY_AGAIN_LATER, 'the client sends faster than its messages are read'),
    }
    this.#countBuffered(data.length + MESSAGE_COST_BYTES)
  }

  #deliver(): void {
    const queue = this.#queue
    let next = 0
    while (next < queue.length && !this.#paused && !this.#hasEnded) {
      const { data, binary } = queue[next++]!
      this.#countBuffered(-data.length - MESSAGE_COST_BYTES)
      this.#receiver.onMessage(data, binary)
    }
    queue.splice(0, next)
    if (queue.length === 0 && !this.#paused && !this.#hasEnded) this.resumeRead()
  }

  /** Drops buffered messages and resumes reading, because the client's close frame follows the unread bytes. */
  #discardInput(): void {
    const wasPaused = this.#paused || this.#queue.length > 0
    this.#paused = false
    this.#dropBuffered()
    clearTimeout(this.#stall)
    if (wasPaused) this.resumeRead()
  }

  #countBuffered(bytes: number): void {
    const buffer = this.#queueBuffer!
    countBuffered(buffer, buffer.bufferedBytes + bytes)
  }

  #dropBuffered(): void {
    this.#queue = []
    if (this.#queueBuffer !== undefined) countBuffered(this.#queueBuffer, 0)
  }

  /** Counts the bytes waiting for a slow client. */
  #count(bytes: number): void {
    replyMemory.usedBytes += bytes - this.#waitingBytes
    this.#waitingBytes = bytes
  }

  #end(code: number, reason: string, aborted: boolean): void {
    this.#count(0)
    try {
      this.#receiver.onClose(code, reason)
    } finally {
      this.#onSettled(aborted)
    }
  }
}
