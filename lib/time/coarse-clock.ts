import { tickNow } from './tick-clock.ts'

/** Resolution of {@link clock}, milliseconds. */
const TICK_MS = 100

/** Coarse monotonic clock for the deadlines of every request: reading the real clock costs too much. */
export const clock: { nowMs: number } = { nowMs: performance.now() }

setInterval(refreshClock, TICK_MS).unref()

/** Sets {@link clock} to the current time. */
export function refreshClock(): void {
  clock.nowMs = performance.now()
}

/** Time in `ms` milliseconds, for comparison with {@link clock}: a late clock must not end a timeout early. */
export function toDeadline(ms: number): number {
  return Math.max(clock.nowMs, tickNow()) + ms
}
