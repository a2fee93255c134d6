import { setTimeout as delay } from 'node:timers/promises'
import { createBackOff } from '../../../lib/async/backoff.ts'
import { withTimeout } from '../../../lib/async/timeout.ts'

export interface ResilientWatchOptions<T> {
  /** Starts the watch, which ends only by `signal` or by throwing. */
  readonly open: (signal: AbortSignal) => AsyncIterable<T>
  /** Called after each change of the value except the first. */
  readonly onChange: (value: T, before: T) => void
  /** Called after each failed attempt, and with undefined after a recovery. */
  readonly onOutage: (reason: Error | undefined) => void
  /** Maximum wait of {@link ResilientWatch.first}, in milliseconds. */
  readonly waitMs: number
}

/** A watch that restarts after failures and retains the last value in the meantime. */
export class ResilientWatch<T> {
  readonly #options: ResilientWatchOptions<T>
  readonly #ending = new AbortController()
  #value: T | undefined = undefined
  /** Reason for the last failed attempt; undefined while the watch is running. */
  #failure: Error | undefined = undefined
  #waiting: Waiting<T> | undefined = undefined

  constructor(options: ResilientWatchOptions<T>) {
    this.#options = options
    void this.#follow()
  }

  /** Last value; undefined if none was received yet. */
  get value(): T | undefined {
    return this.#value
  }

  /** Waits for the first value. Rejects when the watch fails, or after `waitMs`. */
  async first(): Promise<T> {
    if (this.#value !== undefined) return this.#value
    if (this.#failure !== undefined) throw this.#failure
    this.#waiting ??= createWaiting<T>()
    return withTimeout(this.#waiting.promise, this.#options.waitMs)
  }

  close(): void {
    this.#ending.abort()
    if (this.#failure !== undefined) this.#options.onOutage(undefined)
    this.#fail(new Error('the watch was closed'))
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ending
    const backOff = createBackOff()
    while (!signal.aborted) {
      try {
        for await (const value of this.#options.open(signal)) {
          if (signal.aborted) return
          backOff.reset()
          this.#accept(value)
        }
        throw new Error('the watch has ended')
      } catch (thrown) {
        if (signal.aborted) return
        const failure = thrown instanceof Error ? thrown : new Error(String(thrown))
        this.#fail(failure)
        this.#options.onOutage(failure)
      }
      await delay(backOff.next(), undefined, { signal, ref: false }).catch(() => {})
    }
  }

  #accept(value: T): void {
    const before = this.#value
    this.#value = value
    if (this.#failure !== undefined) {
      this.#failure = undefined
      this.#options.onOutage(undefined)
    }
    this.#waiting?.resolve(value)
    this.#waiting = undefined
    if (before !== undefined) this.#options.onChange(value, before)
  }

  /** Rejects all waiting callers. */
  #fail(failure: Error): void {
    this.#failure = failure
    this.#waiting?.reject(failure)
    this.#waiting = undefined
  }
}

interface Waiting<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (reason: Error) => void
}

function createWaiting<T>(): Waiting<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (reason: Error) => void = () => {}
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue
    reject = onError
  })
  // The caller may no longer be waiting.
  promise.catch(() => {})
  return { promise, resolve, reject }
}
