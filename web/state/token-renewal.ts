/** Share of the remaining lifetime after which sessions are renewed. */
const RENEW_AT = 2 / 3
const MIN_MS = 1000
/** Delay for a session that the server accepts even though its expiry has passed. */
const OVERDUE_MS = 60_000

/**
 * Delay in milliseconds until a session is renewed.
 *
 * @param expires expiry according to the server's clock: Unix time in milliseconds, or a date.
 * @param date `Date` header of the response, because the browser's clock may be wrong. @default the browser's clock
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
