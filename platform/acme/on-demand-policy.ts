import { LRUCache } from 'lru-cache'

/**
 * Decides whether a certificate may be ordered for an unlisted host. Never rejects: on errors, the
 * host is denied.
 */
export type OnDemandPolicy = (host: string) => Promise<boolean>

export interface OnDemandPolicyOptions {
  /**
   * Requested with `?domain=<host>`; status 200 allows the host. The URL is set by the operator, so
   * the outgoing address policy does not apply. Redirects are not followed.
   */
  readonly url: string
  readonly onError: (message: string) => void
  /** @default 5000 */
  readonly timeoutMs?: number
  /** Time in milliseconds for which denials are cached. @default 60000 */
  readonly denialMs?: number
}

/** Maximum number of cached denials, because clients can request any number of hosts. */
const DENIED_MAX = 10_000
/** Maximum number of concurrent queries; further hosts are denied without a query. */
const QUERIES_MAX = 32

export function createOnDemandPolicy({
  url,
  onError,
  timeoutMs = 5000,
  denialMs = 60_000,
}: OnDemandPolicyOptions): OnDemandPolicy {
  const denied = new LRUCache<string, true>({ max: DENIED_MAX, ttl: denialMs })
  let queries = 0

  return async (host) => {
    if (denied.has(host) || queries >= QUERIES_MAX) return false
    const target = new URL(url)
    target.searchParams.set('domain', host)
    queries++
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await fetch(target, { redirect: 'manual', signal })
      await response.body?.cancel()
      if (response.status === 200) return true
    } catch (error) {
      const { message, cause } = error as Error
      const reason = cause instanceof Error ? cause.message : message
      onError(
        `cannot query ${target.host} for permission to order a certificate for ${host}: ${reason}`,
      )
    } finally {
      queries--
    }
    denied.set(host, true)
    return false
  }
}
