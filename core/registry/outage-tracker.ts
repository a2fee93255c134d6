/** A registry that cannot be asked. */
export interface Outage {
  /** Why, as told last. */
  readonly reason: Error
  /** Milliseconds since it began. */
  readonly forMs: number
}

/** What became of an outage: it `began`, it `lasts` another minute, it `ended`. */
export type OutageState = 'began' | 'lasts' | 'ended'

export interface OutagesOptions {
  /** Milliseconds that only grow. */
  readonly nowMs: () => number
  /** Told of outages at once, of their course and end when {@link Outages.sweep} finds out. */
  readonly onOutage?: ((state: OutageState, outage: Outage) => void) | undefined
}

const REMIND_MS = 60_000

/** The outages of one registry, as its watches tell of them: one outage, however many watches fail. */
export class Outages {
  readonly #options: OutagesOptions
  /** Watches that are told nothing at present, and since when. */
  readonly #away = new Map<string, number>()
  #reason = new Error('the registry does not answer')
  #sinceMs = 0
  #endedMs = 0
  #reportedMs: number | undefined

  constructor(options: OutagesOptions) {
    this.#options = options
  }

  /** The outage there is; undefined: the registry answers. */
  get current(): Outage | undefined {
    return this.#away.size === 0 ? undefined : this.#describe(this.#options.nowMs())
  }

  /**
   * Takes note that a watch is cut off, for what reason, or with undefined that it is not, or not any more.
   *
   * @param forMs since when, milliseconds: what fails for want of an answer has waited for it.
   */
  tell(watch: string, reason: Error | undefined, forMs = 0): void {
    const now = this.#options.nowMs()
    if (reason === undefined) {
      if (this.#away.delete(watch)) this.#endedMs = now
      return
    }
    this.#reason = reason
    if (this.#away.has(watch)) return
    this.#away.set(watch, now - forMs)
    // One that recurs before its end was told goes on.
    if (this.#reportedMs !== undefined) return
    this.#sinceMs = now - forMs
    this.#report('began', now)
  }

  /** Whether the watch is cut off: what it says is gone may be there all the same. */
  isAway(watch: string): boolean {
    return this.#away.has(watch)
  }

  /** Milliseconds since the watch was cut off; 0: it is not. */
  downForMs(watch: string): number {
    const sinceMs = this.#away.get(watch)
    return sinceMs === undefined ? 0 : this.#options.nowMs() - sinceMs
  }

  /** Tells of an outage that lasts or has ended. To be called now and then: so often at most it is told. */
  sweep(): void {
    if (this.#reportedMs === undefined) return
    const now = this.#options.nowMs()
    if (this.#away.size === 0) {
      this.#report('ended', this.#endedMs)
      this.#reportedMs = undefined
    } else if (now - this.#reportedMs >= REMIND_MS) this.#report('lasts', now)
  }

  #report(state: OutageState, untilMs: number): void {
    this.#reportedMs = untilMs
    this.#options.onOutage?.(state, this.#describe(untilMs))
  }

  #describe(untilMs: number): Outage {
    return { reason: this.#reason, forMs: untilMs - this.#sinceMs }
  }
}
