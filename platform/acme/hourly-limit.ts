import type { Ask } from './ask.ts'

export interface HourlyLimitOptions {
  /** Whether there is a certificate for a host: its renewal is not limited. */
  readonly has: (host: string) => boolean
  /** Milliseconds that only grow. */
  readonly elapsedMs: () => number
  readonly onWarning: (message: string) => void
}

const NAMES_MAX = 10
const HOUR_MS = 3600 * 1000

/**
 * Allows certificates for any host that clients ask for, at most 10 new names an hour in this process. The rule where neither `acme_hosts`
 * nor `acme_ask` restricts the hosts: anyone may point a name at the gateway, and certificate authorities limit orders per account.
 */
export function createHourlyLimit({ has, elapsedMs, onWarning }: HourlyLimitOptions): Ask {
  /** Time of the first order, by host, in the order of time. */
  const names = new Map<string, number>()

  return async (host) => {
    if (has(host)) return true
    const nowMs = elapsedMs()
    for (const [name, sinceMs] of names) {
      if (nowMs - sinceMs < HOUR_MS) break
      names.delete(name)
    }
    if (names.has(host)) return true
    if (names.size >= NAMES_MAX) {
      onWarning(
        `certificate limit reached: ${NAMES_MAX} new host names an hour; list hosts in acme_hosts, or set acme_ask`,
      )
      return false
    }
    names.set(host, nowMs)
    return true
  }
}
