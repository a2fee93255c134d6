import type { OutgoingCall } from '../../core/rpc/call.ts'
import { flushAtTickEnd } from '../../lib/async/flush-on-tick.ts'

/** Bytes that go out at once, without waiting for the end of the turn. */
const FLUSH_BYTES = 64 * 1024

/**
 * The bodies of a stream on their way to the client: those of one turn of the event loop go out together, and the service
 * is asked for as many more as the client has taken.
 */
export class Outflow {
  readonly #call: OutgoingCall
  readonly #write: (pieces: readonly Uint8Array[]) => boolean
  #unwritten: Uint8Array[] = []
  #unwrittenBytes = 0
  /** Bytes of each body the client has not taken. */
  #owed: number[] = []
  #blocked = false

  /** @param write hands pieces to the client; false: it takes no more until {@link drained}. */
  constructor(call: OutgoingCall, write: (pieces: readonly Uint8Array[]) => boolean) {
    this.#call = call
    this.#write = write
  }

  /** Sends a piece that carries a body of `bytes`. Its memory is not used again by the caller. */
  add(piece: Uint8Array, bytes: number): void {
    this.#owed.push(bytes)
    this.#unwrittenBytes += piece.length
    const isFirst = this.#unwritten.push(piece) === 1
    if (this.#unwrittenBytes >= FLUSH_BYTES) this.flush()
    else if (isFirst) flushAtTickEnd(this)
  }

  /** Hands over what waits for the end of the turn. */
  flush(): void {
    const pieces = this.#unwritten
    if (pieces.length === 0) return
    this.#unwritten = []
    this.#unwrittenBytes = 0
    if (!this.#write(pieces)) this.#blocked = true
    this.#settle()
  }

  /** The client takes more. */
  drained(): void {
    this.#blocked = false
    this.#settle()
  }

  #settle(): void {
    if (this.#blocked || this.#unwritten.length > 0) return
    const owed = this.#owed
    this.#owed = []
    for (const bytes of owed) this.#call.consumed(bytes)
  }
}
