import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Maybe } from '../../../core/chain.ts'
import type { Answer } from './client.ts'
import { createConsulError, isConsulError } from './errors.ts'
import type { Seat, Slots } from './slots.ts'

/** What is sent with a question. */
export interface Question {
  /** Answered once the state is newer; undefined: at once. */
  readonly index: string | undefined
  /** {@link Answer.era} of the index; in another one it means nothing. */
  readonly era: number
  /** Seconds Consul may wait for something newer. */
  readonly waitSeconds: number
  readonly signal: AbortSignal
}

export interface BlockingQueryOptions {
  readonly ask: (question: Question) => Promise<Answer>
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
  const { ask, onAnswer, onOutage, idleMs, slots, pace } = options
  const stopper = new AbortController()
  const { signal } = stopper
  let settle = (): void => {}
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })
  let failure: Error | undefined
  let seat: Seat | undefined
  /** Before there was a seat. */
  let isHurried = false
  let index = 0n
  let era = 0
  let digest = ''

  function report(reason: Error | undefined): void {
    const before = failure
    failure = reason
    if (kindOf(before) !== kindOf(reason) && !signal.aborted) onOutage(reason)
  }

  async function hear(answer: Answer): Promise<void> {
    era = answer.era
    const next = INDEX.test(answer.index) ? BigInt(answer.index) : 0n
    // Restored from a snapshot, or another state altogether, which may know less than there is.
    if (next > 0n && next < index) report(createConsulError('Consul has started anew'))
    // Zero: a known fault, and would not wait.
    index = next < index ? 0n : next === 0n ? 1n : next
    const found = toDigest(answer)
    if (found === '' || found !== digest) await onAnswer(answer)
    digest = found
    report(undefined)
    settle()
  }

  /** A function of its own, so that no answer is kept while the next one is waited for: there are thousands. */
  async function askOnce(mayWait: boolean): Promise<void> {
    const { waitSeconds: longest, shortWaitSeconds } = pace
    const waitSeconds = toJittered(slots.isShort() ? shortWaitSeconds : longest, 0.25)
    const answer = await ask({
      index: mayWait && index > 0n ? String(index) : undefined,
      era,
      waitSeconds,
      signal,
    })
    await hear(answer)
    answer.release()
  }

  /** Takes a seat once there is an answer, and somebody still wants the next one. */
  async function sit(): Promise<Seat> {
    if (seat === undefined) await pause(pace.lingerMs, signal)
    signal.throwIfAborted()
    if (seat !== undefined) return seat
    seat = slots.join({ idleMs })
    if (isHurried) seat.hurry()
    return seat
  }

  async function run(): Promise<void> {
    let failures = 0
    let isWaiting = false
    let isRefused = false
    let wait = createPacer(pace)
    for (;;) {
      await pause(wait(performance.now()), signal)
      const askedMs = performance.now()
      try {
        // Its place may have been taken meanwhile.
        isWaiting &&= seat?.take() === true
        await askOnce(isWaiting)
        failures = 0
        // Consul answers, but not to one who wants to wait.
        if (isRefused) slots.refuse()
        const place = await sit()
        isWaiting = !isRefused && place.take()
        isRefused = false
        if (!isWaiting) {
          await place.turn()
          isWaiting = place.take()
        }
      } catch (error) {
        if (signal.aborted) return
        isRefused =
          isWaiting &&
          isConsulError(error) &&
          error.crowded &&
          performance.now() - askedMs < REFUSED_MS
        isWaiting = false
        if (isRefused) continue
        report(error instanceof Error ? error : new Error(String(error)))
        settle()
        // Whatever comes next may be another Consul: its state at once, not after it was waited for.
        index = 0n
        wait = createPacer(pace)
        const denied = kindOf(failure) === 'refusal'
        const backOffMs = Math.min(pace.maxRetryMs, pace.retryMs * 2 ** Math.min(failures++, 20))
        await pause(toJittered(denied ? pace.deniedMs : backOffMs, 0.5), signal)
      }
    }
  }

  run().catch((error: unknown) => {
    if (!signal.aborted) process.emitWarning(error instanceof Error ? error : String(error))
  })

  return {
    settled,
    failure: () => failure,
    hurry() {
      isHurried = seat === undefined
      seat?.hurry()
    },

    doubt() {
      digest = ''
    },

    stop() {
      if (signal.aborted) return
      stopper.abort()
      settle()
      seat?.leave()
    },
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
  return hash.digest('base64') + filtered
}

/** Less by up to `share` of it, so that many do not come together. */
function toJittered(value: number, share: number): number {
  return value * (1 - share * Math.random())
}

/** @throws {Error} when it was stopped meanwhile. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (ms > 0) await delay(ms, undefined, { signal, ref: false })
}
