/** An attempt of a {@link Race}. */
export interface Racer {
  readonly inFlight: boolean
  /** Cancels the attempt. */
  readonly lose: () => void
}

/** Concurrent attempts of a request: the first response wins. */
export class Race<T extends Racer> {
  /** In flight, or waiting for a retry. */
  racers: T[]
  /** Number of attempts added. */
  added = 0
  #timer: NodeJS.Timeout | undefined = undefined

  constructor(first: T) {
    this.racers = [first]
  }

  /** Calls `add` after a time without response. */
  wait(afterMs: number, add: () => void): void {
    this.#timer = setTimeout(add, afterMs)
  }

  add(racer: T): void {
    this.added++
    this.racers.push(racer)
  }

  /** Removes a failed attempt. False: it is the only one. */
  leave(racer: T): boolean {
    if (this.racers.length === 1) return false
    this.racers = this.racers.filter((other) => other !== racer)
    return true
  }

  /** Cancels all attempts but one; undefined: all. */
  end(winner?: T): void {
    clearTimeout(this.#timer)
    const { racers } = this
    this.racers = winner === undefined ? [] : [winner]
    for (const racer of racers) if (racer !== winner) racer.lose()
  }
}
