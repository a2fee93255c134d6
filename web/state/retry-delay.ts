import { createBackOff } from '../../lib/async/backoff.ts'

/** The back-off is reset after this time without an error. */
const RESET_MS = 15_000

/**
 * Delay before a retry: with back-off on the same connection, none on a new one.
 *
 * @param nowMs monotonic clock.
 * @returns a function that returns the next delay in milliseconds.
 */
export function createRetryDelay(
  nowMs: () => number = () => performance.now(),
): (isSameConnection: boolean) => number {
  const backOff = createBackOff()
  let lastMs = Number.NEGATIVE_INFINITY
  return (isSameConnection) => {
    const now = nowMs()
    if (!isSameConnection || now - lastMs > RESET_MS) backOff.reset()
    lastMs = now
    return isSameConnection ? backOff.next() : 0
  }
}
