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
 * window of the source holds (docs/protocol.md §2.5).
 */
export class BodyRelay {
  readonly #source: Source
  readonly #target: Target
  #waiting: Uint8Array[] = []
  #next = 0
  #ended = false

  constructor(source: Source, target: Target) {
    this.#source = source
    this.#target = target
  }

  /** Whether everything that came has been passed on. */
  get isEmpty(): boolean {
    return this.#next === this.#waiting.length
  }

  /** Passes a body on, now or later. Its memory may be reused after the call. */
  push(body: Uint8Array): void {
    if (this.isEmpty && this.#target.sendData(body)) this.#source.consumed(body.length)
    else this.#waiting.push(Buffer.from(body))
  }

  /** The last body has come. */
  end(): void {
    this.#ended = true
    if (this.isEmpty) this.#target.endData()
  }

  /** The target takes bodies again, or is another one that has been told nothing yet. */
  flush(): void {
    while (!this.isEmpty) {
      const body = this.#waiting[this.#next]!
      if (!this.#target.sendData(body)) return
      this.#next++
      this.#source.consumed(body.length)
    }
    this.clear()
    if (this.#ended) this.#target.endData()
  }

  /** Nobody wants what waits. */
  clear(): void {
    this.#waiting = []
    this.#next = 0
  }
}
