import { setTimeout as delay } from 'node:timers/promises'
import type { Workload } from '../../../core/contracts/runtime.ts'
import type { RegisteredInstance } from './instance-registrar.ts'
import { inTime, runInstance } from './run-instance.ts'
import type { ProcessLimits, RuntimeContext } from './runtime-context.ts'
import { toLaunch } from './spawn-instance.ts'

/** How the copies of a revision are. */
export interface RevisionView {
  readonly ready: number
  /** Every copy was ready, at some time. */
  readonly wasComplete: boolean
  /** An instance failed too often in a row. If the revision was ready before, it is still restarted, after the longest pause. */
  readonly isGivenUp: boolean
  /** Failures in a row, of the copy with the most. */
  readonly retries: number
  /** How a copy failed last that has not been ready since. */
  readonly error: string | undefined
  /** Times copies were started again. */
  readonly restarts: number
  /** How a copy failed last, whatever became of it since. */
  readonly lastFailure: string | undefined
}

/** The copies of one revision of a workload, each kept running. */
export interface RunningRevision {
  readonly workload: Workload
  readonly view: () => RevisionView
  /** Whether all copies came up; false: one was given up, or they were stopped before. */
  readonly settled: Promise<boolean>
  /** Starts those again that were given up, and at once those that pause. */
  readonly retry: () => void
  /** Done once none runs. */
  readonly stop: () => Promise<void>
}

interface Slot {
  isReady: boolean
  readyMs: number
  failures: number
  isGivenUp: boolean
  /** It is started no more. */
  isOver: boolean
  error: string | undefined
  /** Of the copy that ended by itself last, until another one is ready. */
  fallen: RegisteredInstance | undefined
  done: Promise<void>
}

/** Failures in a row until a copy counts as failed, and is given up if its revision was never ready (reference 15.24). */
const FAILURES_MAX = 5
/** Of one that is to replace another, which serves meanwhile: whoever waits is told soon. */
const FAILURES_MAX_OF_NEXT = 2
/** So that what failed together does not start together. */
const JITTER = 0.2

/** What is to run. */
export interface DesiredRevision {
  readonly workload: Workload
  /** It is to replace another one, which serves. */
  readonly isNext: boolean
  /** What is waited for before it starts. @default nothing */
  readonly after?: Promise<void>
}

export function runRevision(
  { workload, isNext, after }: DesiredRevision,
  onChange: () => void,
  world: RuntimeContext,
): RunningRevision {
  const { limits, log } = world
  const stopping = new AbortController()
  let wasComplete = false
  /** Ends all pauses. */
  let waking = new AbortController()
  let restarts = 0
  let lastFailure: string | undefined
  let settle: (hasCome: boolean) => void = () => {}
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
      isOver: false,
      error: undefined,
      fallen: undefined,
      done: Promise.resolve(),
    }
    slot.done = keep(slot)
    return slot
  }

  async function keep(slot: Slot): Promise<void> {
    await after
    const life = {
      stop: stopping.signal,
      onReady() {
        slot.isReady = true
        slot.isGivenUp = false
        slot.readyMs = performance.now()
        slot.error = undefined
        void forget(slot)
        change()
      },
      onLeaving() {
        slot.failures = toRetries(slot, limits)
        slot.isReady = false
        change()
      },
      onFallen(door: RegisteredInstance) {
        void forget(slot)
        slot.fallen = door
      },
    }
    slot.failures = 0
    slot.isGivenUp = false
    slot.isOver = false
    try {
      toLaunch(workload)
    } catch (error) {
      // What is not there does not come by being asked for once more.
      slot.error = `could not be run: ${(error as Error).message}`
      slot.isGivenUp = true
      slot.isOver = true
      return change()
    }
    while (!stopping.signal.aborted) {
      const how = await runInstance(workload, life, world)
      if (stopping.signal.aborted) return
      slot.error = how
      lastFailure = how
      slot.failures++
      slot.isGivenUp =
        slot.failures >= (isNext && !wasComplete ? FAILURES_MAX_OF_NEXT : FAILURES_MAX)
      const { namespace, name, version } = workload
      log.warn({ service: name, namespace, version, failures: slot.failures }, `it ${how}`)
      change()
      // The cause may be outside, such as a database that restarts.
      if (slot.isGivenUp && !wasComplete && workload.wasReady !== true) {
        slot.isOver = true
        return
      }
      await pause(slot.failures)
      restarts++
    }
  }

  /** Nobody is to find the copy any more that ended. */
  async function forget(slot: Slot): Promise<void> {
    const door = slot.fallen
    slot.fallen = undefined
    if (door !== undefined) await inTime(door.leave(), limits.drainMs)
  }

  /** Until it is time to start again, or to stop. */
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
      const ended = slots.filter(({ isGivenUp, isOver }) => isGivenUp && isOver)
      waking.abort()
      waking = new AbortController()
      for (const slot of ended) slot.done = keep(slot)
    },
    async stop() {
      stopping.abort()
      settle(false)
      await Promise.all(
        slots.map(async (slot) => {
          await slot.done
          await forget(slot)
        }),
      )
    },
  }
}

/** One that has been ready for long enough begins anew. */
function toRetries({ isReady, readyMs, failures }: Slot, { steadyMs }: ProcessLimits): number {
  return isReady && performance.now() - readyMs >= steadyMs ? 0 : failures
}
