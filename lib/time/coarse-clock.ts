/** Resolution of {@link clock}, milliseconds. */
const TICK_MS = 100

/** Coarse monotonic clock for the deadlines of every request: reading the real clock costs too much. */
export const clock: { nowMs: number } = { nowMs: performance.now() }

setInterval(() => {
  clock.nowMs = performance.now()
}, TICK_MS).unref()
