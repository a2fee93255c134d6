import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { toBackOffMs, toJittered } from '../../../lib/async/backoff.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import type { ConsulResponse } from './http/client.ts'
import { createConsulError, isConsulError } from './http/errors.ts'
import type { Slot, Slots } from './watch-slots.ts'

export interface QueryParameters {
  /** Consul responds once its state is newer than this index, or immediately if undefined. */
  readonly index: string | undefined
  /** {@link ConsulResponse.era} of the index. The index is invalid in any other era. */
  readonly era: number
  /** Maximum time in seconds that Consul waits for a newer state. */
  readonly waitSeconds: number
  readonly signal: AbortSignal
}

export interface BlockingQueryOptions {
  readonly request: (parameters: QueryParameters) => Promise<ConsulResponse>
  /**
   * Called with the first response and each changed response; large responses may repeat. An error
   * thrown by the callback counts as a failure.
   */
  readonly onResponse: (response: ConsulResponse) => Maybe<void>
  /** See `WatchOptions.onOutage`. Called again when an outage becomes a denial or vice versa. */
  readonly onOutage: (reason: Error | undefined) => void
  /** See `WatchOptions.idleMs`. */
  readonly idleMs: () => number
  readonly slots: Slots
  readonly pace: Pace
}

/** Rates and timeouts of queries. */
export interface Pace {
  /** Minimum interval between responses in milliseconds. */
  readonly gapMs: number
  /** Number of responses allowed without that interval. */
  readonly burst: number
  /** Maximum duration of a blocking query in seconds: with a slot for each query, and with too few. */
  readonly waitSeconds: number
  readonly shortWaitSeconds: number
  /** Back-off after a failure in milliseconds: first and maximum. */
  readonly retryMs: number
  readonly maxRetryMs: number
  /** Back-off after a denial in milliseconds. */
  readonly deniedMs: number
  /**
   * Delay before the first blocking query in milliseconds, so that short-lived watches never send
   * one.
   */
  readonly lingerMs: number
}

export interface BlockingQuery {
  /** Settles with the first response or failure. */
  readonly settled: Promise<void>
  /** Returns the current failure. */
  readonly failure: () => Error | undefined
  /** Queries soon because a change is expected. */
  readonly expedite: () => void
  /** Delivers the next response even if it equals the previous one. */
  readonly invalidate: () => void
  readonly stop: () => void
}

const INDEX = /^\d{1,20}$/
/** Consul resets a connection over its limit within this time, in milliseconds. */
const REJECTED_MS = 1000
/** Maximum size in bytes of responses compared by hash. Hashing larger responses takes too long. */
const MAX_HASHED = 262_144

/**
 * Repeats a blocking query according to
 * https://developer.hashicorp.com/consul/api-docs/features/blocking. An index that goes backwards
 * is reset, the minimum index is 1, fast responses are paced, failures back off, and a response may
 * contain no change.
 */
export function startBlockingQuery(options: BlockingQueryOptions): BlockingQuery {
  return new Query(options)
}

/**
 * Instances waiting for a slot have neither a promise nor a signal, because there are thousands of
 * instances.
 */
class Query implements BlockingQuery {
  readonly settled: Promise<void>
  readonly #options: BlockingQueryOptions
  #settle: () => void = () => {}
  #failure: Error | undefined = undefined
  /** Consecutive failures. */
  #failures = 0
  #slot: Slot | undefined = undefined
  /** True if `expedite` was called before a slot was available. */
  #isExpedited = false
  #index = 0n
  #era = 0
  #digest = ''
  #wait: ReturnType<typeof createPacer>
  /** Whether the next query may block. */
  #isWaiting = false
  #isRejected = false
  #isStopped = false
  /** Aborts the query or pause in progress. */
  #abort: AbortController | undefined = undefined

  constructor(options: BlockingQueryOptions) {
    this.#options = options
    this.#wait = createPacer(options.pace)
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.#run()
  }

  failure(): Error | undefined {
    return this.#failure
  }

  expedite(): void {
    this.#isExpedited = this.#slot === undefined
    this.#slot?.expedite()
  }

  invalidate(): void {
    this.#digest = ''
  }

  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#abort?.abort()
    this.#settle()
    this.#slot?.leave()
  }

  #run(): void {
    this.#queryUntilWaiting().catch((error: unknown) => {
      if (!this.#isStopped) process.emitWarning(error instanceof Error ? error : String(error))
    })
  }

  readonly #onSlot = (): void => {
    if (this.#isStopped) return
    this.#isWaiting = this.#slot!.acquire()
    this.#run()
  }

  /** Runs queries until the next one has to wait for a slot. */
  async #queryUntilWaiting(): Promise<void> {
    this.#abort = new AbortController()
    const { signal } = this.#abort
    for (;;) {
      await pause(this.#wait(performance.now()), signal)
      const requestedMs = performance.now()
      try {
        // The slot may have been revoked in the meantime.
        this.#isWaiting &&= this.#slot?.acquire() === true
        await this.#queryOnce(signal)
        this.#failures = 0
        // Consul responds but has rejected the connection of the blocking query.
        if (this.#isRejected) this.#options.slots.reduce()
        const slot = await this.#joinSlots(signal)
        this.#isWaiting = !this.#isRejected && slot.acquire()
        this.#isRejected = false
        if (this.#isWaiting) continue
        this.#abort = undefined
        slot.wait(this.#onSlot)
        return
      } catch (error) {
        if (this.#isStopped) return
        await this.#fail(error, performance.now() - requestedMs, signal)
      }
    }
  }

  /**
   * A separate function, so that thousands of queries do not retain their last response while
   * waiting.
   */
  async #queryOnce(signal: AbortSignal): Promise<void> {
    const { slots, pace } = this.#options
    const waitSeconds = toJittered(slots.isShort() ? pace.shortWaitSeconds : pace.waitSeconds, 0.25)
    const response = await this.#options.request({
      index: this.#isWaiting && this.#index > 0n ? String(this.#index) : undefined,
      era: this.#era,
      waitSeconds,
      signal,
    })
    await this.#onResponse(response)
    response.release()
  }

  async #onResponse(response: ConsulResponse): Promise<void> {
    this.#era = response.era
    const next = INDEX.test(response.index) ? BigInt(response.index) : 0n
    // Consul was restored from a snapshot or is another cluster; the new state may be incomplete.
    if (next > 0n && next < this.#index)
      this.#report(createConsulError('Consul was restarted with a different state'))
    // Index 0 is a known bug of Consul and would not block.
    this.#index = next < this.#index ? 0n : next === 0n ? 1n : next
    const digest = toDigest(response)
    if (digest === '' || digest !== this.#digest) await this.#options.onResponse(response)
    this.#digest = digest
    this.#report(undefined)
    this.#settle()
  }

  /**
   * Joins the slots after the first response, unless the watch was stopped during the linger time.
   */
  async #joinSlots(signal: AbortSignal): Promise<Slot> {
    if (this.#slot === undefined) await pause(this.#options.pace.lingerMs, signal)
    signal.throwIfAborted()
    if (this.#slot !== undefined) return this.#slot
    this.#slot = this.#options.slots.join(this.#options)
    if (this.#isExpedited) this.#slot.expedite()
    return this.#slot
  }

  /** Reports a failure and waits for the back-off. */
  async #fail(error: unknown, afterMs: number, signal: AbortSignal): Promise<void> {
    const { pace } = this.#options
    this.#isRejected =
      this.#isWaiting && isConsulError(error) && error.overLimit && afterMs < REJECTED_MS
    this.#isWaiting = false
    if (this.#isRejected) return
    this.#report(error instanceof Error ? error : new Error(String(error)))
    this.#settle()
    // The next response may come from another Consul server, so its state is queried without an
    // index.
    this.#index = 0n
    this.#wait = createPacer(pace)
    const denied = kindOf(this.#failure) === 'denial'
    const range = { minMs: pace.retryMs, maxMs: pace.maxRetryMs }
    const backOffMs = toBackOffMs(this.#failures++, range)
    await pause(denied ? toJittered(pace.deniedMs, 0.5) : backOffMs, signal)
  }

  #report(reason: Error | undefined): void {
    const previous = this.#failure
    this.#failure = reason
    if (kindOf(previous) !== kindOf(reason) && !this.#isStopped) this.#options.onOutage(reason)
  }
}

/**
 * Returns the delay before the next query: none for the first `burst` queries, then `gapMs` for
 * each (token bucket).
 */
export function createPacer({
  gapMs,
  burst,
}: Pick<Pace, 'gapMs' | 'burst'>): (nowMs: number) => number {
  let nextMs = 0
  return (nowMs) => {
    nextMs = Math.max(nextMs, nowMs) + gapMs
    // Rounded down to whole milliseconds: even a rounding error would cause a pause, and pauses do
    // not keep the process alive.
    return Math.max(0, Math.floor(nextMs - nowMs - gapMs * burst))
  }
}

function kindOf(failure: Error | undefined): 'none' | 'outage' | 'denial' {
  if (failure === undefined) return 'none'
  return isConsulError(failure) && failure.denied ? 'denial' : 'outage'
}

/** Returns an empty string for a large response. */
function toDigest({ chunks, filtered }: ConsulResponse): string {
  if (chunks.reduce((bytes, { length }) => bytes + length, 0) > MAX_HASHED) return ''
  const hash = createHash('sha1')
  for (const chunk of chunks) hash.update(chunk)
  return hash.update(String(filtered)).digest('base64')
}

/** @throws {Error} if stopped in the meantime. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (ms > 0) await delay(ms, undefined, { signal, ref: false })
}
