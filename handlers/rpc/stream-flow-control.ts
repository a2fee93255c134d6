import type { OutgoingCall } from '../../core/rpc/call.ts'
import { flushAtTickEnd } from '../../lib/async/flush-on-tick.ts'

/** Buffered bytes that are written without waiting for the end of the tick. */
const FLUSH_BYTES = 64 * 1024

/**
 * Writes the bodies of a stream to the client: batches the bodies of one tick, and grants the service flow-control credit for the bytes that
 * the client has received.
 */
export class Outflow {
  readonly #call: OutgoingCall
  readonly #write: (pieces: readonly Uint8Array[]) => boolean
  #unwritten: Uint8Array[] = []
  #unwrittenBytes = 0
  /** Sizes of bodies without credit so far. */
  #pendingCredit: number[] = []
  #blocked = false

  /** @param write writes to the client; false on backpressure, until {@link drained}. */
  constructor(call: OutgoingCall, write: (pieces: readonly Uint8Array[]) => boolean) {
    this.#call = call
    this.#write = write
  }

  /** Sends a piece with a body of `bytes`. The caller must not reuse its memory. */
  add(piece: Uint8Array, bytes: number): void {
    this.#pendingCredit.push(bytes)
    this.#unwrittenBytes += piece.length
    const isFirst = this.#unwritten.push(piece) === 1
    if (this.#unwrittenBytes >= FLUSH_BYTES) this.flush()
    else if (isFirst) flushAtTickEnd(this)
  }

  /** Writes the pending pieces. */
  flush(): void {
    const pieces = this.#unwritten
    if (pieces.length === 0) return
    this.#unwritten = []
    this.#unwrittenBytes = 0
    if (!this.#write(pieces)) this.#blocked = true
    this.#settle()
  }

  /** Has to be called when the client can receive more. */
  drained(): void {
    this.#blocked = false
    this.#settle()
  }

  #settle(): void {
    if (this.#blocked || this.#unwritten.length > 0) return
    const pendingCredit = this.#pendingCredit
    this.#pendingCredit = []
    for (const bytes of pendingCredit) this.#call.consumed(bytes)
  }
}
