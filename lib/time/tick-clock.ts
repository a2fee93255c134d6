import { flushAtTickEnd } from '../async/flush-on-tick.ts'

let nowMs = 0
const forget = {
  flush(): void {
    nowMs = 0
  },
}

/**
 * `performance.now()` when it was first asked for in this turn of the event loop: what happens in one turn happens at one
 * time. Each reading of the real clock costs a hundredth of a whole request, of which a turn begins and ends dozens.
 *
 * Not for deadlines of work that may block: a turn lasts as long as its longest function.
 */
export function tickNow(): number {
  if (nowMs === 0) {
    nowMs = performance.now()
    flushAtTickEnd(forget)
  }
  return nowMs
}
