import { flushAtTickEnd } from '../async/flush-on-tick.ts'

let nowMs = 0
const reset = {
  flush(): void {
    nowMs = 0
  },
}

/**
 * `performance.now()` at its first call in this tick of the event loop, cached for the tick. Each reading of the real clock costs a
 * hundredth of a request, and a tick starts and ends dozens of requests.
 *
 * Not for deadlines of work that may block: a tick lasts as long as its longest function.
 */
export function tickNow(): number {
  if (nowMs === 0) {
    nowMs = performance.now()
    flushAtTickEnd(reset)
  }
  return nowMs
}
