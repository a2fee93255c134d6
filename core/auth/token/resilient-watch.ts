import { setTimeout as delay } from 'node:timers/promises'
import { createBackOff } from '../../../lib/async/backoff.ts'
import { withTimeout } from '../../../lib/async/timeout.ts'

export interface ResilientWatchOptions<T> {
  /** Begins the watch; it ends by `signal` only, or throws. */
  readonly open: (signal: AbortSignal) => AsyncIterable<T>
  /** Told of each value but the first, once it is the one that holds. */
  readonly onChange: (value: T, before: T) => void
  /** Told of each attempt that failed, and with undefined of what came after one that had. */
  readonly onOutage: (reason: Error | undefined) => void
  /** Milliseconds {@link ResilientWatch.first} waits for a value. */
  readonly waitMs: number
}

/** The last value of a watch, which is begun anew whenever it breaks: the value stays meanwhile. */
export class ResilientWatch<T> {
  readonly #options: ResilientWatchOptions<T>
  readonly #ending = new AbortController()
  #value: T | undefined = undefined
  /** Why the last attempt failed; undefined: it goes on. */
  #failure: Error | undefined = undefined
  #waiting: Waiting<T> | undefined = undefined

  constructor(options: ResilientWatchOptions<T>) {
    this.#options = options
    void this.#follow()
  }

  /** Undefined: there has never been one. */
  get value(): T | undefined {
    return this.#value
  }

  /** The value, once there is one. Rejects when the watch cannot be begun, or that takes too long. */
  async first(): Promise<T> {
    if (this.#value !== undefined) return this.#value
    if (this.#failure !== undefined) throw this.#failure
    this.#waiting ??= createWaiting<T>()
    return withTimeout(this.#waiting.promise, this.#options.waitMs)
  }

  close(): void {
    this.#ending.abort()
    if (this.#failure !== undefined) this.#options.onOutage(undefined)
    this.#fail(new Error('it is watched no more'))
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ending
    const backOff = createBackOff()
    while (!signal.aborted) {
      try {
        for await (const value of this.#options.open(signal)) {
          if (signal.aborted) return
          backOff.reset()
          this.#take(value)
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

  #take(value: T): void {
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

  /** Tells those who wait that there is nothing to wait for. */
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
  // Whoever waited may have given up.
  promise.catch(() => {})
  return { promise, resolve, reject }
}
