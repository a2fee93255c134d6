import { LRUCache } from 'lru-cache'

/** Says whether a certificate may be ordered for a host nobody has listed. Never rejects: what cannot be asked is no. */
export type OnDemandPolicy = (host: string) => Promise<boolean>

export interface OnDemandPolicyOptions {
  /** Gets `?domain=<host>`, and says yes by 200. The operator's: the outgoing address policy does not apply, redirects are not followed. */
  readonly url: string
  readonly onError: (message: string) => void
  /** @default 5000 */
  readonly timeoutMs?: number
  /** How long a no counts. @default 60000 */
  readonly refusalMs?: number
}

/** Of hosts that were refused: others may ask for any number of them. */
const REFUSED_MAX = 10_000
/** At a time; whoever comes then is refused without being asked for. */
const ASKING_MAX = 32

export function createOnDemandPolicy({
  url,
  onError,
  timeoutMs = 5000,
  refusalMs = 60_000,
}: OnDemandPolicyOptions): OnDemandPolicy {
  const refused = new LRUCache<string, true>({ max: REFUSED_MAX, ttl: refusalMs })
  let asking = 0

  return async (host) => {
    if (refused.has(host) || asking >= ASKING_MAX) return false
    const target = new URL(url)
    target.searchParams.set('domain', host)
    asking++
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const reply = await fetch(target, { redirect: 'manual', signal })
      await reply.body?.cancel()
      if (reply.status === 200) return true
    } catch (error) {
      const { message, cause } = error as Error
      const reason = cause instanceof Error ? cause.message : message
      onError(`${target.host} does not say whether ${host} may have a certificate: ${reason}`)
    } finally {
      asking--
    }
    refused.set(host, true)
    return false
  }
}
