import { type CallState, useCall } from '../hooks/use-call.ts'
import { call } from '../rpc/caller.ts'
import { namespace } from '../state/session.ts'

/** A registered service with its endpoints. */
export interface ServiceEndpoints {
  readonly name: string
  /** Namespace of the service. */
  readonly domain: string
  readonly endpoints: readonly string[]
}

interface ServicePage {
  readonly services: readonly {
    readonly name: string
    readonly endpoints: readonly { readonly name: string }[] | null
  }[]
  /** Cursor of the next page. */
  readonly next?: string
}

const DEFAULT_DOMAIN = 'mx'

/** Loads the services callable from the namespace: built-in services and services of the namespace. */
export function useServices(): CallState<readonly ServiceEndpoints[]> {
  return useCall(async (signal) => {
    const domains = new Set([DEFAULT_DOMAIN, namespace.value])
    const lists = [...domains].map((domain) => readServices(domain, signal))
    return (await Promise.all(lists)).flat()
  }, [])
}

async function readServices(domain: string, signal: AbortSignal): Promise<ServiceEndpoints[]> {
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
