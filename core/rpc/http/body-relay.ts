import { relayMemory } from '../../limits/memory-budget.ts'
import { frameCost } from '../ws/frames.ts'

interface Source {
  /** Returns flow-control credit for this number of bytes. */
  consumed(bytes: number): void
}

interface Target {
  /** @returns false if the target cannot accept a body now. */
  sendData(body: Uint8Array): boolean
  endData(): void
}

/**
 * Relays the bodies in one direction of a call between two connections.
 *
 * Bodies that the target does not accept are buffered. Credit is only returned to the source as the target accepts
 * bodies. The buffer is therefore bounded by the window of the source (docs/protocol.md §2.5), and the buffers of all
 * calls are bounded by `relayMemory`.
 */
export class BodyRelay {
  readonly #source: Source
  readonly #target: Target
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #ended = false

  constructor(source: Source, target: Target) {
    this.#source = source
    this.#target = target
  }

  /** True if all received bodies have been relayed. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /**
   * Relays a body, now or later. Its memory may be reused after the call.
   *
   * @returns false if the memory budget is exhausted.
   */
  push(body: Uint8Array): boolean {
    if (this.isEmpty && this.#target.sendData(body)) {
      this.#source.consumed(body.length)
      return true
    }
    const cost = frameCost(body.length)
    if (relayMemory.usedBytes + cost > relayMemory.maxBytes) return false
    this.#countWaiting(cost)
    this.#waiting.push(Buffer.from(body))
    return true
  }

  /** Call after the last body. */
  end(): void {
    this.#ended = true
    if (this.isEmpty) this.#target.endData()
  }

  /** Call when the target accepts bodies again or was replaced. */
  flush(): void {
    const waiting = this.#waiting
    let sent = 0
    while (sent < waiting.length && this.#target.sendData(waiting[sent]!)) {
      // The recipient may have ended the call.
      if (this.#waiting !== waiting) return
      const { length } = waiting[sent++]!
      this.#countWaiting(-frameCost(length))
      this.#source.consumed(length)
    }
    if (sent > 0) this.#waiting = waiting.slice(sent)
    if (this.#ended && this.isEmpty) this.#target.endData()
  }

  /** Discards the buffered bodies. */
  clear(): void {
    this.#countWaiting(-this.#waitingBytes)
    this.#waiting = []
  }

  #countWaiting(bytes: number): void {
    relayMemory.usedBytes += bytes
    this.#waitingBytes += bytes
  }
}
