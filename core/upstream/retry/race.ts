/** An attempt of a {@link Race}. */
export interface Racer {
  readonly inFlight: boolean
  /** Cancels the attempt. */
  readonly cancelAttempt: () => void
}

/** Concurrent attempts of a request, of which the first response wins. */
export class Race<T extends Racer> {
  /** Attempts in flight or waiting for a retry. */
  racers: T[]
  /** Number of attempts added. */
  added = 0
  #timer: NodeJS.Timeout | undefined = undefined

  constructor(first: T) {
    this.racers = [first]
  }

  /** Calls `add` after a time without a response. */
  wait(afterMs: number, add: () => void): void {
    this.#timer = setTimeout(add, afterMs)
  }

  add(racer: T): void {
    this.added++
    this.racers.push(racer)
  }

  /** Removes a failed attempt. Returns false if it is the only one. */
  remove(racer: T): boolean {
    if (this.racers.length === 1) return false
    this.racers = this.racers.filter((other) => other !== racer)
    return true
  }

  /** Cancels all attempts except `winner`; all of them if undefined. */
  end(winner?: T): void {
    clearTimeout(this.#timer)
    const { racers } = this
    this.racers = winner === undefined ? [] : [winner]
    for (const racer of racers) if (racer !== winner) racer.cancelAttempt()
  }
}
