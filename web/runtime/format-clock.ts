/** Time of the day where the reader is, `14:03:09.120`. */
export function formatClock(ms: number): string {
  const date = new Date(ms)
  const two = (n: number): string => String(n).padStart(2, '0')
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()]
  const millis = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(hours)}:${two(minutes)}:${two(seconds)}.${millis}`
}
