/** Part of what is left of a login after which it is renewed. */
const RENEW_AT = 2 / 3
const MIN_MS = 1000
/** For a login that the server knows of, and that has ended as its clocks have it. */
const ODD_MS = 60_000

/**
 * How long to wait before a login is renewed, in milliseconds.
 *
 * @param expires when it ends, by the clock of the server: Unix time in milliseconds, or a date.
 * @param date field `Date` of the answer that told so: the clock of the browser may be wrong. @default the browser's
 */
export function toRenewalMs(
  expires: number | string,
  date: string | null,
  nowMs: number = Date.now(),
): number {
  const reportedAtMs = Date.parse(date ?? '')
  const leftMs = new Date(expires).getTime() - (Number.isNaN(reportedAtMs) ? nowMs : reportedAtMs)
  return leftMs > 0 ? Math.max(MIN_MS, leftMs * RENEW_AT) : ODD_MS
}
