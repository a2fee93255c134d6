import { relayMemory } from '../../limits/memory-budget.ts'
import { frameCost } from '../ws/frames.ts'

/** Where bodies come from. */
interface Source {
  /** A body of that many bytes was passed on: another one may come. */
  consumed(bytes: number): void
}

/** Where they go. */
interface Target {
  /** False: not now. */
  sendData(body: Uint8Array): boolean
  endData(): void
}

/**
 * The bodies of one direction of a call, from one connection to another.
 *
 * What the target does not take waits here. The source is asked for as much as the target has taken, so that no more waits than the
 * window of the source holds (docs/protocol.md §2.5); and of all calls together no more than `relayMemory` has room for.
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

  /** Whether everything that came has been passed on. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Passes a body on, now or later; false: there is no room for it. Its memory may be reused after the call. */
  push(body: Uint8Array): boolean {
    if (this.isEmpty && this.#target.sendData(body)) {
      this.#source.consumed(body.length)
      return true
    }
    const cost = frameCost(body.length)
    if (relayMemory.usedBytes + cost > relayMemory.maxBytes) return false
    this.#hold(cost)
    this.#waiting.push(Buffer.from(body))
    return true
  }

  /** The last body has come. */
  end(): void {
    this.#ended = true
    if (this.isEmpty) this.#target.endData()
  }

  /** The target takes bodies again, or is another one that has been told nothing yet. */
  flush(): void {
    const waiting = this.#waiting
    let sent = 0
    while (sent < waiting.length && this.#target.sendData(waiting[sent]!)) {
      // Whoever got it may have ended the call.
      if (this.#waiting !== waiting) return
      const { length } = waiting[sent++]!
      this.#hold(-frameCost(length))
      this.#source.consumed(length)
    }
    if (sent > 0) this.#waiting = waiting.slice(sent)
    if (this.#ended && this.isEmpty) this.#target.endData()
  }

  /** Nobody wants what waits. */
  clear(): void {
    this.#hold(-this.#waitingBytes)
    this.#waiting = []
  }

  #hold(bytes: number): void {
    relayMemory.usedBytes += bytes
    this.#waitingBytes += bytes
  }
}
