import { type CallState, useCall } from '../hooks/use-call.ts'
import { call } from '../rpc/caller.ts'
import { namespace } from '../state/session.ts'

/** A service that is registered, and what can be called of it. */
export interface KnownService {
  readonly name: string
  /** Namespace it belongs to. */
  readonly domain: string
  readonly endpoints: readonly string[]
}

interface ServicePage {
  readonly services: readonly {
    readonly name: string
    readonly endpoints: readonly { readonly name: string }[] | null
  }[]
  /** There are more: list after it. */
  readonly next?: string
}

const DEFAULT_DOMAIN = 'mx'

/** What can be called from the namespace: the services of the platform's, and its own. */
export function useServices(): CallState<readonly KnownService[]> {
  return useCall(async (signal) => {
    const domains = new Set([DEFAULT_DOMAIN, namespace.value])
    const found = [...domains].map((domain) => readServices(domain, signal))
    return (await Promise.all(found)).flat()
  }, [])
}

async function readServices(domain: string, signal: AbortSignal): Promise<KnownService[]> {
  const byName = new Map<string, Set<string>>()
  for (let after: string | undefined = ''; after !== undefined; ) {
    const request: object = { after, options: { domain } }
    const { body } = await call<ServicePage>('registry', 'Registry.ListServices', request, {
      signal,
    })
    for (const { name, endpoints } of body.services) {
      const all = byName.get(name) ?? new Set()
      for (const endpoint of endpoints ?? []) all.add(endpoint.name)
      byName.set(name, all)
    }
    after = body.next
  }
  return [...byName].map(([name, endpoints]) => ({ name, domain, endpoints: [...endpoints] }))
}
