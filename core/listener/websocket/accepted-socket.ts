import { replyMemory } from '../../limits/memory-budget.ts'
import { countBuffered, type RequestBuffer } from '../../limits/request-buffers.ts'
import { ABNORMAL, isCloseCode, TOO_BIG, TRY_AGAIN_LATER, toReason } from './close-codes.ts'
import { CLIENT_HIGH_BYTES, CLIENT_LOW_BYTES, STALL_MAX_MS, type TrafficMeter } from './limits.ts'
import type { ServerSocket, SocketReceiver } from './session.ts'

/** What a message costs in memory while it is kept, beside its bytes. */
const MESSAGE_COST_BYTES = 256

/** A message that came while the client was held back. */
interface Kept {
  readonly data: Uint8Array
  readonly binary: boolean
}

/** What all WebSockets that end in this process have in common, whatever library frames them. */
export abstract class AcceptedSocket implements ServerSocket {
  readonly #meter: TrafficMeter
  readonly #receiver: SocketReceiver
  readonly #maxMessageBytes: number
  readonly #onSettled: (aborted: boolean) => void
  /** The receiver is, or is being, told of the end. */
  #over = false
  /** The receiver's messages have been told to wait. */
  #blocked = false
  #paused = false
  /** Runs while the client is held back. */
  #stall: NodeJS.Timeout | undefined = undefined
  /** While there are any, the client is not read on. */
  #kept: Kept[] = []
  /** Counts them; undefined: there never were any. */
  #keptBuffer: RequestBuffer | undefined = undefined
  /** Counted in `replyMemory`. */
  #waitingBytes = 0

  /** @param onSettled called once, after the receiver's `onClose`; `aborted`: there was no close frame. */
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
    if (this.#over) return false
    // Encoded here: a lone surrogate would become bytes that are no UTF-8.
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    if (this.#isTooLong(bytes)) this.close(TOO_BIG, 'message too long')
    else if (this.#isTooMuch(bytes)) this.close(TRY_AGAIN_LATER, 'the client is too slow')
    else this.#transmit(bytes, binary)
    return !this.#over && !this.#blocked
  }

  sendAll(messages: readonly Uint8Array[], binary: boolean): boolean {
    if (this.#over) return false
    let sent = 0
    // Never the end of the WebSocket in there: what the library holds back would be written to a closed one.
    this.cork(() => {
      for (const message of messages) {
        if (this.#isTooLong(message) || this.#isTooMuch(message)) return
        this.#transmit(message, binary)
        sent++
      }
    })
    while (sent < messages.length) this.send(messages[sent++]!, binary)
    return !this.#over && !this.#blocked
  }

  close(code: number, reason: string): void {
    if (!isCloseCode(code)) throw new TypeError(`close code must be one to send, got ${code}`)
    if (this.#over) return
    const text = toReason(reason)
    this.#letGo()
    this.#over = true
    this.transmitClose(code, text)
    this.#end(code, text, false)
  }

  terminate(): void {
    if (this.#over) return
    this.#letGo()
    this.#over = true
    this.cut()
    this.#end(ABNORMAL, '', true)
  }

  pause(): void {
    if (this.#paused || this.#over) return
    this.#paused = true
    this.pauseRead()
    this.#stall = setTimeout(() => {
      this.close(TRY_AGAIN_LATER, 'held back for too long')
    }, STALL_MAX_MS).unref()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    clearTimeout(this.#stall)
    if (this.#kept.length === 0) this.resumeRead()
    else setImmediate(() => this.#deliver())
  }

  /** Whether the client is held back. */
  protected get paused(): boolean {
    return this.#paused
  }

  /** For libraries: a whole message. */
  protected receive(data: Uint8Array, binary: boolean): void {
    if (this.#over) return
    this.#meter.bytesIn += data.length
    if (data.length > this.#maxMessageBytes) this.close(TOO_BIG, 'message too long')
    else if (this.#paused || this.#kept.length > 0) this.#keep(data, binary)
    else this.#receiver.onMessage(data, binary)
  }

  /** For libraries: less waits for the client than before. */
  protected drained(): void {
    if (!this.#blocked || this.#over) return
    const { bufferedBytes } = this
    const isSlow = bufferedBytes > CLIENT_LOW_BYTES
    // Of one that is slow no more nobody tells when the rest has gone.
    this.#count(isSlow ? bufferedBytes : 0)
    if (isSlow) return
    this.#blocked = false
    this.#receiver.onDrain()
  }

  /** For libraries: the client's half is closed, or broke the rules. */
  protected closed(code: number, reason: string, aborted: boolean): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#stall)
    const kept = this.#kept
    this.#dropKept()
    for (const { data, binary } of kept) this.#receiver.onMessage(data, binary)
    this.#end(code, reason, aborted)
  }

  /** Hands a message over; keeps nothing of it. False: not all of it went out, or that is not known. */
  protected abstract transmit(data: Uint8Array, binary: boolean): boolean
  /** Runs `write`, whose messages go out together. */
  protected abstract cork(write: () => void): void
  /** Sends a close frame behind what waits. `code` 1005: without a code. */
  protected abstract transmitClose(code: number, reason: string): void
  protected abstract cut(): void
  protected abstract pauseRead(): void
  protected abstract resumeRead(): void

  #isTooLong({ length }: Uint8Array): boolean {
    return length > this.#maxMessageBytes
  }

  #isTooMuch({ length }: Uint8Array): boolean {
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

  #keep(data: Uint8Array, binary: boolean): void {
    this.#kept.push({ data: Uint8Array.prototype.slice.call(data), binary })
    this.#keptBuffer ??= {
      bufferedBytes: 0,
      isCuttable: true,
      cutBuffered: () => this.close(TRY_AGAIN_LATER, 'sends more than is read'),
    }
    this.#countKept(data.length + MESSAGE_COST_BYTES)
  }

  #deliver(): void {
    const kept = this.#kept
    let next = 0
    while (next < kept.length && !this.#paused && !this.#over) {
      const { data, binary } = kept[next++]!
      this.#countKept(-data.length - MESSAGE_COST_BYTES)
      this.#receiver.onMessage(data, binary)
    }
    kept.splice(0, next)
    if (kept.length === 0 && !this.#paused && !this.#over) this.resumeRead()
  }

  /** Reads on in any case: the client's close frame lies behind what was not read. */
  #letGo(): void {
    const isHeld = this.#paused || this.#kept.length > 0
    this.#paused = false
    this.#dropKept()
    clearTimeout(this.#stall)
    if (isHeld) this.resumeRead()
  }

  #countKept(bytes: number): void {
    const buffer = this.#keptBuffer!
    countBuffered(buffer, buffer.bufferedBytes + bytes)
  }

  #dropKept(): void {
    this.#kept = []
    if (this.#keptBuffer !== undefined) countBuffered(this.#keptBuffer, 0)
  }

  /** Takes note of what waits for a slow client. */
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
