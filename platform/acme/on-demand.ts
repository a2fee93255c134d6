import { isDnsName, toHostName } from '../../core/http/host-name.ts'
import { untilAborted } from '../../lib/async/timeout.ts'
import type { OnDemandPolicy } from './on-demand-policy.ts'

export interface OnDemandOptions {
  readonly ask: OnDemandPolicy
  /** Whether there is a certificate for a host. */
  readonly has: (host: string) => boolean
  /** Whether none can be ordered for now. */
  readonly isTaken: (host: string) => boolean
  /** Whether another gateway is ordering one. */
  readonly isElsewhere: (host: string) => boolean
  /** Orders one. Resolves when this gateway is done with that. */
  readonly order: (host: string) => Promise<void>
}

/** Certificates for hosts nobody has listed, when somebody asks for them. */
export interface OnDemand {
  /** As of `TlsSource`. */
  readonly request: (serverName: string) => Promise<void>
  /** There are other certificates. */
  readonly changed: () => void
}

/** How long a handshake or a request waits for a certificate. */
const WAIT_MS = 9000
/** Hosts at a time. */
const REQUESTS_MAX = 100

export function createOnDemand({
  ask,
  has,
  isTaken,
  isElsewhere,
  order,
}: OnDemandOptions): OnDemand {
  const requests = new Map<string, Promise<void>>()
  const waiting = new Set<() => void>()

  async function obtain(host: string): Promise<void> {
    if (!(await ask(host))) return
    const ordered = order(host).then(async () => {
      while (!has(host) && isElsewhere(host)) await nextChange()
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
      const under = requests.get(host)
      if (under !== undefined) return under
      if (isTaken(host) || requests.size >= REQUESTS_MAX) return
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
