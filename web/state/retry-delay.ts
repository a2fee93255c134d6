import { createBackOff } from '../../lib/async/backoff.ts'

/** Trouble that comes so long after the last one is another. */
const ANOTHER_MS = 15_000

/**
 * How long what failed waits before it is tried again: longer each time, until all was well for a while; not at all on another
 * connection than it failed on.
 *
 * @param nowMs a clock that only goes forward.
 * @returns milliseconds, told whether the connection is still the same.
 */
export function createRetryDelay(
  nowMs: () => number = () => performance.now(),
): (isSameConnection: boolean) => number {
  const backOff = createBackOff()
  let lastMs = Number.NEGATIVE_INFINITY
  return (isSameConnection) => {
    const now = nowMs()
    if (!isSameConnection || now - lastMs > ANOTHER_MS) backOff.reset()
    lastMs = now
    return isSameConnection ? backOff.next() : 0
  }
}
