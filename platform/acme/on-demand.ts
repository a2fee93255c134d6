import { isDnsName, toHostName } from '../../core/http/host/host-name.ts'
import { untilAborted } from '../../lib/async/timeout.ts'
import type { OnDemandPolicy } from './on-demand-policy.ts'

export interface OnDemandOptions {
  readonly policy: OnDemandPolicy
  /** Returns whether a host already has a certificate. */
  readonly has: (host: string) => boolean
  /** Returns whether certificate orders for the host are currently blocked. */
  readonly isBlocked: (host: string) => boolean
  /** Returns whether another gateway is ordering a certificate. */
  readonly isOrderedElsewhere: (host: string) => boolean
  /** Orders a certificate. Resolves when this gateway's order has ended. */
  readonly order: (host: string) => Promise<void>
}

/** Orders certificates for unlisted hosts when clients request them. */
export interface OnDemand {
  /** See `TlsSource`. */
  readonly request: (serverName: string) => Promise<void>
  /** Must be called when certificates have changed. */
  readonly changed: () => void
}

/** Maximum time that a handshake or a request waits for a certificate. */
const WAIT_MS = 9000
/** Maximum number of hosts with an order in flight. */
const REQUESTS_MAX = 100

export function createOnDemand({
  policy,
  has,
  isBlocked,
  isOrderedElsewhere,
  order,
}: OnDemandOptions): OnDemand {
  const requests = new Map<string, Promise<void>>()
  const waiting = new Set<() => void>()

  async function obtain(host: string): Promise<void> {
    if (!(await policy(host))) return
    const ordered = order(host).then(async () => {
      while (!has(host) && isOrderedElsewhere(host)) await nextChange()
    })
    await untilAborted(ordered, AbortSignal.timeout(WAIT_MS))
  }

  function nextChange(): Promise<void> {
    return new Promise((resolve) => waiting.add(resolve))
  }

  return {
    async request(serverName) {
      const host = toHostName(serverName)
      if (!isDnsName(host) || has(host)) return
      const pending = requests.get(host)
      if (pending !== undefined) return pending
      if (isBlocked(host) || requests.size >= REQUESTS_MAX) return
      const request = obtain(host).finally(() => requests.delete(host))
      requests.set(host, request)
      return request
    },
    changed() {
      const resolves = [...waiting]
      waiting.clear()
      for (const resolve of resolves) resolve()
    },
  }
}
