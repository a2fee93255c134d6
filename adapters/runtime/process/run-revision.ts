import { setTimeout as delay } from 'node:timers/promises'
import type { Workload } from '../../../core/contracts/runtime.ts'
import type { RegisteredInstance } from './instance-registrar.ts'
import { ignoreFailure, runInstance } from './run-instance.ts'
import type { ProcessLimits, RuntimeContext } from './runtime-context.ts'
import { toLaunch } from './spawn-instance.ts'

/** State of the instances of a revision. */
export interface RevisionView {
  readonly ready: number
  /** Whether all instances have been ready simultaneously at some point. */
  readonly wasComplete: boolean
  /**
   * Whether an instance has failed too often in a row. If the revision was ready before, restarts
   * continue after the maximum pause.
   */
  readonly isGivenUp: boolean
  /** Maximum number of consecutive failures of any instance. */
  readonly retries: number
  /** Latest failure of an instance that has not been ready since. */
  readonly error: string | undefined
  readonly restarts: number
  /** Latest failure. */
  readonly lastFailure: string | undefined
}

/** Supervised instances of one revision of a workload. */
export interface RunningRevision {
  readonly workload: Workload
  readonly view: () => RevisionView
  /**
   * Resolves with true when all instances are ready, or with false when an instance is given up or
   * the revision is stopped.
   */
  readonly settled: Promise<boolean>
  /** Restarts instances that were given up, and ends all pauses. */
  readonly retry: () => void
  /** Resolves when no instance runs. */
  readonly stop: () => Promise<void>
}

interface Slot {
  isReady: boolean
  readyMs: number
  failures: number
  isGivenUp: boolean
  /** Whether the last instance was not ready in time. */
  isLate: boolean
  /** Whether no further restarts follow. */
  isEnded: boolean
  error: string | undefined
  /** Registration of the last failed instance, until its replacement is ready. */
  failed: RegisteredInstance | undefined
  done: Promise<void>
}

/**
 * Consecutive failures after which an instance counts as failed. If its revision was never ready,
 * the instance is given up (reference 15.24).
 */
const FAILURES_MAX = 5
/**
 * Limit for a revision that replaces a serving one. It is lower, so that a failed deployment is
 * reported soon.
 */
const FAILURES_MAX_OF_NEXT = 2
/** Random spread for the restarts of instances that failed simultaneously. */
const JITTER = 0.2

export interface DesiredRevision {
  readonly workload: Workload
  /** Whether the revision replaces a serving one. */
  readonly isNext: boolean
  /** Delays the start. @default none */
  readonly startAfter?: Promise<void>
}

export function runRevision(
  { workload, isNext, startAfter }: DesiredRevision,
  onChange: () => void,
  context: RuntimeContext,
): RunningRevision {
  const { limits, log } = context
  const stopping = new AbortController()
  let wasComplete = false
  /** Ends all pauses. */
  let waking = new AbortController()
  let restarts = 0
  let lastFailure: string | undefined
  let settle: (isComplete: boolean) => void = () => {}
  const settled = new Promise<boolean>((resolve) => {
    settle = resolve
  })
  const slots = Array.from({ length: workload.instances }, toSlot)

  function toSlot(): Slot {
    const slot: Slot = {
      isReady: false,
      readyMs: Number.NaN,
      failures: 0,
      isGivenUp: false,
      isLate: false,
      isEnded: false,
      error: undefined,
      failed: undefined,
      done: Promise.resolve(),
    }
    slot.done = superviseSlot(slot)
    return slot
  }

  async function superviseSlot(slot: Slot): Promise<void> {
    await startAfter
    const life = {
      stop: stopping.signal,
      onReady() {
        slot.isReady = true
        slot.isGivenUp = false
        slot.readyMs = performance.now()
        slot.error = undefined
        void deregister(slot)
        change()
      },
      onLate() {
        slot.isLate = true
      },
      onLeaving() {
        slot.failures = toRetries(slot, limits)
        slot.isReady = false
        change()
      },
      onFailed(registration: RegisteredInstance) {
        void deregister(slot)
        slot.failed = registration
      },
    }
    slot.failures = 0
    slot.isGivenUp = false
    slot.isEnded = false
    try {
      toLaunch(workload)
    } catch (error) {
      // Retrying does not help if the program or folder is missing.
      slot.error = `could not be started: ${(error as Error).message}`
      slot.isGivenUp = true
      slot.isEnded = true
      return change()
    }
    while (!stopping.signal.aborted) {
      slot.isLate = false
      const failure = await runInstance(workload, life, context)
      if (stopping.signal.aborted) return
      slot.error = failure
      lastFailure = failure
      slot.failures++
      const wasReady = wasComplete || workload.wasReady === true
      slot.isGivenUp =
        // A program that never registers is not retried, because `mx run` waits for the failure.
        (slot.isLate && !wasReady) ||
        slot.failures >= (isNext && !wasComplete ? FAILURES_MAX_OF_NEXT : FAILURES_MAX)
      const { namespace, name, version } = workload
      log.warn(
        { service: name, namespace, version, failures: slot.failures },
        `service instance ${failure}`,
      )
      change()
      // The cause may be external, such as a database that is restarting.
      if (slot.isGivenUp && !wasReady) {
        slot.isEnded = true
        return
      }
      await pause(slot.failures)
      restarts++
    }
  }

  /** Deregisters the failed instance. */
  async function deregister(slot: Slot): Promise<void> {
    const registration = slot.failed
    slot.failed = undefined
    if (registration !== undefined) await ignoreFailure(registration.leave(), limits.drainMs)
  }

  /** Waits for the restart back-off. Ends early on stop or retry. */
  async function pause(failures: number): Promise<void> {
    const ms = limits.pauseMinMs * 2 ** (failures - 1) * (1 + Math.random() * JITTER)
    const signal = AbortSignal.any([stopping.signal, waking.signal])
    await delay(Math.min(ms, limits.pauseMaxMs), undefined, { signal }).catch(() => {})
  }

  function change(): void {
    if (slots.every(({ isReady }) => isReady)) wasComplete = true
    if (wasComplete) settle(true)
    else if (slots.some(({ isGivenUp }) => isGivenUp)) settle(false)
    onChange()
  }

  return {
    workload,
    settled,
    view: () => ({
      ready: slots.filter(({ isReady }) => isReady).length,
      wasComplete,
      isGivenUp: slots.some(({ isGivenUp }) => isGivenUp),
      retries: Math.max(...slots.map((slot) => toRetries(slot, limits))),
      error: slots.find(({ error }) => error !== undefined)?.error,
      ...{ restarts, lastFailure },
    }),
    retry() {
      const ended = slots.filter(({ isGivenUp, isEnded }) => isGivenUp && isEnded)
      waking.abort()
      waking = new AbortController()
      for (const slot of ended) slot.done = superviseSlot(slot)
    },
    async stop() {
      stopping.abort()
      settle(false)
      await Promise.all(
        slots.map(async (slot) => {
          await slot.done
          await deregister(slot)
        }),
      )
    },
  }
}

/** Returns the number of failures, which is reset after a stable time. */
function toRetries({ isReady, readyMs, failures }: Slot, { steadyMs }: ProcessLimits): number {
  return isReady && performance.now() - readyMs >= steadyMs ? 0 : failures
}
