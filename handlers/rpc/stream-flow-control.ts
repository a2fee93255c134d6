import type { OutgoingCall } from '../../core/rpc/call.ts'
import { flushAtTickEnd } from '../../lib/async/flush-on-tick.ts'

/** Number of buffered bytes that are written without waiting for the end of the tick. */
const FLUSH_BYTES = 64 * 1024

/**
 * Writes the bodies of a stream to the client. Batches the bodies of a tick, and grants the service flow-control credit
 * for the bytes that the client has received.
 */
export class Outflow {
  readonly #call: OutgoingCall
  readonly #write: (pieces: readonly Uint8Array[]) => boolean
  #unwritten: Uint8Array[] = []
  #unwrittenBytes = 0
  /** Sizes of bodies without credit so far. */
  #pendingCredit: number[] = []
  #blocked = false

  /** @param write writes to the client. Returns false on back-pressure, until {@link drained} is called. */
  constructor(call: OutgoingCall, write: (pieces: readonly Uint8Array[]) => boolean) {
    this.#call = call
    this.#write = write
  }

  /** Sends a piece that contains a body of `bytes` bytes. The caller must not reuse its memory. */
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

  /** Must be called when the client can receive more. */
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
