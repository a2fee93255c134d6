import type { OnDemandPolicy } from '../on-demand-policy.ts'

export interface HourlyLimitOptions {
  /** Whether there is a certificate for a host: its renewal is not limited. */
  readonly has: (host: string) => boolean
  /** Monotonic clock in milliseconds. */
  readonly elapsedMs: () => number
  readonly onWarning: (message: string) => void
}

const NAMES_MAX = 10
const HOUR_MS = 3600 * 1000

/**
 * Allows certificates for any host that clients request, at most 10 new names an hour in this process. The rule where neither `acme_hosts`
 * nor `acme_ask` restricts the hosts: anyone may point a name at the gateway, and certificate authorities limit orders per account.
 *
 * Rejections are reported at most once an hour, with their number: clients choose the names.
 */
export function createHourlyLimit({
  has,
  elapsedMs,
  onWarning,
}: HourlyLimitOptions): OnDemandPolicy {
  /** Time of the first order by host, oldest first. */
  const names = new Map<string, number>()
  let reportedMs = Number.NEGATIVE_INFINITY
  /** Since the last report. */
  let rejected = 0

  function reject(nowMs: number): false {
    rejected++
    if (nowMs - reportedMs < HOUR_MS) return false
    const since = reportedMs === Number.NEGATIVE_INFINITY ? '' : ' since the last warning'
    onWarning(
      `certificate limit reached: ${NAMES_MAX} new host names an hour; rejected requests${since}: ${rejected}; list hosts in acme_hosts, or set acme_ask`,
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
