/** The system's clock was set, or the machine slept, where it is that far from the one that only goes on. */
const STEP_MS = 100

let originMs = performance.timeOrigin

/**
 * When `performance.now()` was 0, in milliseconds since 1970, with fractions: the same for all spans of this process, so that those
 * within others are seen there, until the system's clock is set. A span that has begun ends by what it began with.
 */
export function readSpanOrigin(): number {
  const foundMs = Date.now() - performance.now()
  if (Math.abs(foundMs - originMs) > STEP_MS) originMs = foundMs
  return originMs
}
