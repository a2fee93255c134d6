const two = (n: number): string => String(n).padStart(2, '0')

/** Formats a local date and time, such as `2026-01-31 14:03:09`. */
export function formatDateTime(ms: number): string {
  const date = new Date(ms)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${formatTime(ms)}`
}

/** Formats a local time of day, such as `14:03:09`. */
export function formatTime(ms: number): string {
  const date = new Date(ms)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
}

/** Like {@link formatTime}, with milliseconds: `14:03:09.120`. */
export function formatClock(ms: number): string {
  return `${formatTime(ms)}.${String(new Date(ms).getMilliseconds()).padStart(3, '0')}`
}
