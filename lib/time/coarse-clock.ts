import { tickNow } from './tick-clock.ts'

/** Resolution of {@link clock} in milliseconds. */
const TICK_MS = 100

/** Coarse monotonic clock for deadlines of requests, because reading the real clock is too expensive. */
export const clock: { nowMs: number } = { nowMs: performance.now() }

setInterval(refreshClock, TICK_MS).unref()

/** Sets {@link clock} to the current time. */
export function refreshClock(): void {
  clock.nowMs = performance.now()
}

/**
 * Returns the time in `ms` milliseconds for comparison with {@link clock}. A late clock must not end a timeout early.
 */
export function toDeadline(ms: number): number {
  return Math.max(clock.nowMs, tickNow()) + ms
}
