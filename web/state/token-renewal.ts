/** Sessions are renewed after this share of their remaining lifetime. */
const RENEW_AT = 2 / 3
const MIN_MS = 1000
/** Delay for a session that the server accepts although its expiry has passed. */
const OVERDUE_MS = 60_000

/**
 * Delay until a session is renewed, in milliseconds.
 *
 * @param expires expiry by the server's clock: Unix time in milliseconds, or a date.
 * @param date header `Date` of the response, since the browser's clock may be wrong. @default the browser's clock
 */
export function toRenewalMs(
  expires: number | string,
  date: string | null,
  nowMs: number = Date.now(),
): number {
  const reportedAtMs = Date.parse(date ?? '')
  const leftMs = new Date(expires).getTime() - (Number.isNaN(reportedAtMs) ? nowMs : reportedAtMs)
  return leftMs > 0 ? Math.max(MIN_MS, leftMs * RENEW_AT) : OVERDUE_MS
}
