import { flushAtTickEnd } from '../async/flush-on-tick.ts'

let nowMs = 0
const reset = {
  flush(): void {
    nowMs = 0
  },
}

/**
 * Returns `performance.now()` at its first call in this event loop tick, cached for the tick. Each reading of the real
 * clock costs a hundredth of a request, and a tick starts and ends dozens of requests.
 *
 * Not suitable for deadlines of work that may block, since a tick lasts as long as its longest function.
 */
export function tickNow(): number {
  if (nowMs === 0) {
    nowMs = performance.now()
    flushAtTickEnd(reset)
  }
  return nowMs
}
