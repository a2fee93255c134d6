/**
 * Drift from the monotonic clock above which the system clock counts as changed or the machine as
 * suspended.
 */
const STEP_MS = 100

let originMs = performance.timeOrigin

/**
 * Returns the Unix time of `performance.now() === 0` in fractional milliseconds. All spans of the
 * process share it until the system clock changes, so that child spans lie within their parents. A
 * started span keeps its origin.
 */
export function readSpanOrigin(): number {
  const currentMs = Date.now() - performance.now()
  if (Math.abs(currentMs - originMs) > STEP_MS) originMs = currentMs
  return originMs
}
