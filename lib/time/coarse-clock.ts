/** How far {@link clock} may lag behind, milliseconds. */
const TICK_MS = 100

/** A coarse clock: deadlines are set from it for every request, and reading the real one would be dearer than what it measures. */
export const clock: { nowMs: number } = { nowMs: performance.now() }

setInterval(() => {
  clock.nowMs = performance.now()
}, TICK_MS).unref()
