import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { toBackOffMs, toJittered } from '../../../lib/async/backoff.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import type { Answer } from './http/client.ts'
import { createConsulError, isConsulError } from './http/errors.ts'
import type { Slot, Slots } from './watch-slots.ts'

/** What is sent with a question. */
export interface QueryParameters {
  /** Answered once the state is newer; undefined: at once. */
  readonly index: string | undefined
  /** {@link Answer.era} of the index; in another one it means nothing. */
  readonly era: number
  /** Seconds Consul may wait for something newer. */
  readonly waitSeconds: number
  readonly signal: AbortSignal
}

export interface BlockingQueryOptions {
  readonly ask: (question: QueryParameters) => Promise<Answer>
  /**
   * Told the first answer and every one that differs from the one before; long ones may come again though they do not. What it
   * throws counts as a failure.
   */
  readonly onAnswer: (answer: Answer) => Maybe<void>
  /** As `WatchOptions.onOutage`; told again when an outage becomes a refusal, or a refusal an outage. */
  readonly onOutage: (reason: Error | undefined) => void
  /** As `WatchOptions.idleMs`. */
  readonly idleMs: () => number
  readonly slots: Slots
  readonly pace: Pace
}

/** How often is asked. */
export interface Pace {
  /** Milliseconds between two answers when they come one after the other. */
  readonly gapMs: number
  /** Answers that may come together before that. */
  readonly burst: number
  /** Seconds a question may wait, at most: with a place for each, and without. */
  readonly waitSeconds: number
  readonly shortWaitSeconds: number
  /** Milliseconds from a failure to the next question: the first time, and at most. */
  readonly retryMs: number
  readonly maxRetryMs: number
  /** Milliseconds from a refusal to the next question. */
  readonly deniedMs: number
  /** Milliseconds from the first answer to the first question that waits: who only looks something up is gone by then. */
  readonly lingerMs: number
}

export interface BlockingQuery {
  /** Settled with the first answer or failure. */
  readonly settled: Promise<void>
  /** Why there is no answer at present. */
  readonly failure: () => Error | undefined
  /** The answer has changed: it is asked for soon. */
  readonly hurry: () => void
  /** The next answer is told though it be the same as the last one. */
  readonly doubt: () => void
  readonly stop: () => void
}

const INDEX = /^\d{1,20}$/
/** A connection refused as one too many is refused at once, milliseconds. */
const REFUSED_MS = 1000
/** Longest answer compared by its hash, bytes: that of a longer one would take too long. */
const MAX_HASHED = 262_144

/**
 * Asks Consul the same question again and again, each one waiting for the state to become newer than the last answer, by the
 * rules of https://developer.hashicorp.com/consul/api-docs/features/blocking: an index that went backwards is forgotten, none
 * is below 1, answers that come too fast are paced, failures back off, and an answer may say nothing new.
 */
export function startBlockingQuery(options: BlockingQueryOptions): BlockingQuery {
  return new Query(options)
}

/** There are thousands: one whose turn is yet to come holds neither a promise nor a signal. */
class Query implements BlockingQuery {
  readonly settled: Promise<void>
  readonly #options: BlockingQueryOptions
  #settle: () => void = () => {}
  #failure: Error | undefined = undefined
  /** Failures one after the other. */
  #failures = 0
  #seat: Slot | undefined = undefined
  /** Before there was a seat. */
  #isHurried = false
  #index = 0n
  #era = 0
  #digest = ''
  #wait: ReturnType<typeof createPacer>
  /** Whether the next question may wait. */
  #isWaiting = false
  #isRefused = false
  #isStopped = false
  /** Of what is under way. */
  #stopper: AbortController | undefined = undefined

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

  hurry(): void {
    this.#isHurried = this.#seat === undefined
    this.#seat?.hurry()
  }

  doubt(): void {
    this.#digest = ''
  }

  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#stopper?.abort()
    this.#settle()
    this.#seat?.leave()
  }

  #run(): void {
    this.#askInTurn().catch((error: unknown) => {
      if (!this.#isStopped) process.emitWarning(error instanceof Error ? error : String(error))
    })
  }

  readonly #onTurn = (): void => {
    if (this.#isStopped) return
    this.#isWaiting = this.#seat!.take()
    this.#run()
  }

  /** Asks until it is to wait for its turn. */
  async #askInTurn(): Promise<void> {
    this.#stopper = new AbortController()
    const { signal } = this.#stopper
    for (;;) {
      await pause(this.#wait(performance.now()), signal)
      const requestedMs = performance.now()
      try {
        // Its place may have been taken meanwhile.
        this.#isWaiting &&= this.#seat?.take() === true
        await this.#askOnce(signal)
        this.#failures = 0
        // Consul answers, but not to one who wants to wait.
        if (this.#isRefused) this.#options.slots.refuse()
        const seat = await this.#sit(signal)
        this.#isWaiting = !this.#isRefused && seat.take()
        this.#isRefused = false
        if (this.#isWaiting) continue
        this.#stopper = undefined
        seat.turn(this.#onTurn)
        return
      } catch (error) {
        if (this.#isStopped) return
        await this.#fail(error, performance.now() - requestedMs, signal)
      }
    }
  }

  /** A function of its own, so that no answer is kept while the next one is waited for: there are thousands. */
  async #askOnce(signal: AbortSignal): Promise<void> {
    const { slots, pace } = this.#options
    const waitSeconds = toJittered(slots.isShort() ? pace.shortWaitSeconds : pace.waitSeconds, 0.25)
    const answer = await this.#options.ask({
      index: this.#isWaiting && this.#index > 0n ? String(this.#index) : undefined,
      era: this.#era,
      waitSeconds,
      signal,
    })
    await this.#hear(answer)
    answer.release()
  }

  async #hear(answer: Answer): Promise<void> {
    this.#era = answer.era
    const next = INDEX.test(answer.index) ? BigInt(answer.index) : 0n
    // Restored from a snapshot, or another state altogether, which may know less than there is.
    if (next > 0n && next < this.#index) this.#report(createConsulError('Consul has started anew'))
    // Zero: a known fault, and would not wait.
    this.#index = next < this.#index ? 0n : next === 0n ? 1n : next
    const digest = toDigest(answer)
    if (digest === '' || digest !== this.#digest) await this.#options.onAnswer(answer)
    this.#digest = digest
    this.#report(undefined)
    this.#settle()
  }

  /** Takes a seat once there is an answer, and somebody still wants the next one. */
  async #sit(signal: AbortSignal): Promise<Slot> {
    if (this.#seat === undefined) await pause(this.#options.pace.lingerMs, signal)
    signal.throwIfAborted()
    if (this.#seat !== undefined) return this.#seat
    this.#seat = this.#options.slots.join(this.#options)
    if (this.#isHurried) this.#seat.hurry()
    return this.#seat
  }

  /** Tells of a failure, and waits for as long as it takes until the next question. */
  async #fail(error: unknown, afterMs: number, signal: AbortSignal): Promise<void> {
    const { pace } = this.#options
    this.#isRefused =
      this.#isWaiting && isConsulError(error) && error.crowded && afterMs < REFUSED_MS
    this.#isWaiting = false
    if (this.#isRefused) return
    this.#report(error instanceof Error ? error : new Error(String(error)))
    this.#settle()
    // Whatever comes next may be another Consul: its state at once, not after it was waited for.
    this.#index = 0n
    this.#wait = createPacer(pace)
    const denied = kindOf(this.#failure) === 'refusal'
    const range = { minMs: pace.retryMs, maxMs: pace.maxRetryMs }
    const backOffMs = toBackOffMs(this.#failures++, range)
    await pause(denied ? toJittered(pace.deniedMs, 0.5) : backOffMs, signal)
  }

  #report(reason: Error | undefined): void {
    const before = this.#failure
    this.#failure = reason
    if (kindOf(before) !== kindOf(reason) && !this.#isStopped) this.#options.onOutage(reason)
  }
}

/** How long to wait before the next question: nothing for `burst` of them, then one each `gapMs` (a token bucket). */
export function createPacer({
  gapMs,
  burst,
}: Pick<Pace, 'gapMs' | 'burst'>): (nowMs: number) => number {
  let nextMs = 0
  return (nowMs) => {
    nextMs = Math.max(nextMs, nowMs) + gapMs
    // Whole milliseconds: what rounding errors leave would be a pause, too, and nothing keeps the process while it lasts.
    return Math.max(0, Math.floor(nextMs - nowMs - gapMs * burst))
  }
}

function kindOf(failure: Error | undefined): 'none' | 'outage' | 'refusal' {
  if (failure === undefined) return 'none'
  return isConsulError(failure) && failure.denied ? 'refusal' : 'outage'
}

/** Empty for a long answer. */
function toDigest({ chunks, filtered }: Answer): string {
  if (chunks.reduce((bytes, { length }) => bytes + length, 0) > MAX_HASHED) return ''
  const hash = createHash('sha1')
  for (const chunk of chunks) hash.update(chunk)
  return hash.update(String(filtered)).digest('base64')
}

/** @throws {Error} when it was stopped meanwhile. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (ms > 0) await delay(ms, undefined, { signal, ref: false })
}
