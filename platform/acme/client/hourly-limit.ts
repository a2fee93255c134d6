import type { OnDemandPolicy } from '../on-demand-policy.ts'

export interface HourlyLimitOptions {
  /** Returns whether a host already has a certificate. Renewals are not limited. */
  readonly has: (host: string) => boolean
  /** Monotonic clock in milliseconds. */
  readonly elapsedMs: () => number
  readonly onWarning: (message: string) => void
}

const NAMES_MAX = 10
const HOUR_MS = 3600 * 1000

/**
 * Allows certificates for any host that clients request, limited to 10 new names per hour in this
 * process. It applies if neither `acme_hosts` nor `acme_ask` restricts the hosts: anyone may point
 * a name to the gateway, and certificate authorities limit orders per account.
 *
 * At most one warning per hour reports the number of rejections, because clients choose the names.
 */
export function createHourlyLimit({
  has,
  elapsedMs,
  onWarning,
}: HourlyLimitOptions): OnDemandPolicy {
  /** Time of the first order by host, oldest first. */
  const names = new Map<string, number>()
  let reportedMs = Number.NEGATIVE_INFINITY
  /** Number of rejections since the last warning. */
  let rejected = 0

  function reject(nowMs: number): false {
    rejected++
    if (nowMs - reportedMs < HOUR_MS) return false
    const since = reportedMs === Number.NEGATIVE_INFINITY ? '' : ' since the last warning'
    onWarning(
      `certificate limit reached: ${NAMES_MAX} new host names per hour; rejected requests${since}: ${rejected}; list hosts in acme_hosts, or set acme_ask`,
    )
    reportedMs = nowMs
    rejected = 0
    return false
  }

  return async (host) => {
    if (has(host)) return true
    const nowMs = elapsedMs()
    for (const [name, sinceMs] of names) {
      if (nowMs - sinceMs < HOUR_MS) break
      names.delete(name)
    }
    if (names.has(host)) return true
    if (names.size >= NAMES_MAX) return reject(nowMs)
    names.set(host, nowMs)
    return true
  }
}
