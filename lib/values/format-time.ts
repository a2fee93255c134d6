import { formatDuration } from '../text/units.ts'

/** Represents `none`, like `Infinity`. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Formats a time limit in milliseconds as `30s` or `none`. */
export function formatTime(ms: number): string {
  return ms >= MAX_TIMER_MS ? 'none' : formatDuration(ms)
}
