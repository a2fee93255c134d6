import type { Registry } from '../../core/contracts/registry.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import { ServiceCache } from '../../core/registry/service-cache.ts'
import { SETTING } from '../../core/registry/setting-metadata.ts'
import { parseBalance } from '../../core/upstream/balance/parse-balance.ts'
import { parseHostPort } from '../../core/upstream/node/parse-node.ts'
import type { PoolAddress } from '../../core/upstream/node/pool-address.ts'
import { mergePolicies } from '../../core/upstream/policies/merge-policies.ts'
import { parsePolicies } from '../../core/upstream/policies/parse-policies.ts'
import { Pool } from '../../core/upstream/pool/pool.ts'
import { Upstream } from '../../core/upstream/upstream.ts'
import type { UpstreamOptions } from '../../core/upstream/upstream-options.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { findLocalService } from '../internal/local-services.ts'
import { DEFAULT_NAMESPACE } from '../namespace.ts'
import {
  findOpenRegistry,
  type OpenedRegistry,
  openRegistry,
  supportsDomains,
} from '../registry/open-registry.ts'
import type { LocalService } from './call-options.ts'
import { ClientClosedError } from './client-closed.ts'

export interface TargetsOptions {
  /** Registry or its address, which is opened by the first call. */
  readonly registry: Registry | string | undefined
  /** Domain of a registry opened by address; other services are looked up in `mx`. @default 'mx' */
  readonly domain?: string
  /** Address for all calls. */
  readonly address: string | undefined
  /** Proxy for services outside this process. */
  readonly proxy: string | undefined
  readonly services: readonly LocalService[]
  /** Call services in this process without sockets if they use the same registry. */
  readonly inProcess: boolean
  /** Identity for a registry opened by address. @default anonymous */
  readonly tokens?: () => TokenSource | undefined
}

const GENERAL_CACHE_MAX = 1000
const GENERAL_CACHE_MS = 5000
/** Maximum number of addresses with open connections. */
const ADDRESSES_MAX = 100
/** Maximum connections per node over the HTTP transport, and maximum calls waiting for one. */
const CONNECTIONS_MAX = 100
const WAITING_MAX = 10_000
/** Idle timeout; shorter than the usual server timeout of 5 s, so that servers do not close first. */
const KEEP_ALIVE_MS = 4000
const CONNECT_TIMEOUT_MS = 5000
/** No timeout, because calls have their own deadlines. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Services select nodes and retries by the same metadata as gateways. */
const UPSTREAM: UpstreamOptions = { createPool, onSettings: readSettings }
const SCHEME = /^(mxs?|https?):\/\//

/** Finds the targets of calls: a service in this process, an address, the proxy, or nodes from the registry. */
export class ClientTargets {
  readonly #options: TargetsOptions
  #opened: OpenedRegistry | undefined = undefined
  #serviceCache: ServiceCache | undefined = undefined
  /** Address of the registry for the `mx` domain if it differs; else empty. */
  readonly #generalAddress: string
  /** Registry and service cache of `#generalAddress`. */
  #general: { readonly opened: OpenedRegistry; readonly serviceCache: ServiceCache } | undefined =
    undefined
  /** Services found in the `mx` domain, with the time at which the result expires (`performance.now()`). */
  readonly #generalUntilMs = new Map<string, number>()
  /** Ordered by last use, the least recently used first. */
  readonly #addresses = new Map<string, Upstream>()
  #closed = false

  /** @throws {TypeError} for an invalid address. */
  constructor(options: TargetsOptions) {
    this.#options = options
    const { registry, domain = DEFAULT_NAMESPACE } = options
    const hasOther = domain !== DEFAULT_NAMESPACE && typeof registry === 'string'
    this.#generalAddress = hasOther && supportsDomains(registry) ? registry : ''
    if (options.address !== undefined) this.#openAddress(options.address)
  }

  /**
   * Finds the target of a call; undefined for an unknown service.
   *
   * @throws {TypeError} for an invalid address, or without a registry and an address.
   * @throws {GatewayError} 503 if the registry is unavailable.
   */
  find(
    service: string,
    address: string | undefined = this.#options.address,
  ): Maybe<Upstream | LocalService | undefined> {
    if (this.#closed) throw new ClientClosedError()
    if (address !== undefined) return this.#openAddress(address)
    const { proxy } = this.#options
    const registry =
      proxy === undefined
        ? this.#openRegistry()
        : findOpenRegistry(this.#options.registry, this.#options.domain)
    const local = this.#findLocal(service, registry)
    if (local !== undefined) return local
    if (proxy !== undefined) return this.#openAddress(proxy)
    if (registry === undefined)
      throw new TypeError(`calling ${service} requires a registry, a proxy or an address`)
    return this.#search(service, registry)
  }

  /** True if the address belongs to the platform: it is configured or in the registry. */
  isKnown(service: string, address: string): Maybe<boolean> {
    const { proxy } = this.#options
    const isAllowed = (token: string | undefined): boolean =>
      token !== undefined && withScheme(token) === withScheme(address)
    if (isAllowed(this.#options.address) || isAllowed(proxy)) return true
    const registry = proxy === undefined ? this.#openRegistry() : undefined
    if (registry === undefined) return false
    const target = parseHostPort(address.replace(SCHEME, ''))
    const isNode = (match: Upstream | undefined): boolean =>
      match?.nodes.some(({ host, port }) => host === target?.host && port === target.port) === true
    const result = this.#search(service, registry)
    return result instanceof Promise ? result.then(isNode, () => false) : isNode(result)
  }

  /** Closes the connections when the calls in flight have ended. */
  close(): void {
    this.#closed = true
    this.#serviceCache?.close()
    this.#general?.serviceCache.close()
    // Closes in the background.
    for (const opened of [this.#opened, this.#general?.opened]) opened?.close().catch(() => {})
    for (const upstream of this.#addresses.values()) upstream.close()
    this.#addresses.clear()
  }

  #openRegistry(): Registry | undefined {
    const { registry, domain } = this.#options
    if (typeof registry !== 'string') return registry
    this.#opened ??= openRegistry(registry, { domain, tokens: this.#options.tokens?.() })
    return this.#opened.registry
  }

  #search(service: string, registry: Registry): Maybe<Upstream | undefined> {
    this.#serviceCache ??= new ServiceCache(registry, { upstream: () => UPSTREAM })
    if (this.#generalAddress === '') return this.#serviceCache.find(service)
    const untilMs = this.#generalUntilMs.get(service)
    if (untilMs !== undefined && performance.now() < untilMs) return this.#findGeneral(service)
    const result = this.#serviceCache.find(service)
    if (!(result instanceof Promise)) return result ?? this.#searchGeneral(service)
    return result.then((namespaced) => namespaced ?? this.#searchGeneral(service))
  }

  #searchGeneral(service: string): Maybe<Upstream | undefined> {
    if (this.#generalUntilMs.size >= GENERAL_CACHE_MAX) this.#generalUntilMs.clear()
    this.#generalUntilMs.set(service, performance.now() + GENERAL_CACHE_MS)
    return this.#findGeneral(service)
  }

  #findGeneral(service: string): Maybe<Upstream | undefined> {
    // The client was closed during the lookup.
    if (this.#closed) return undefined
    this.#general ??= createGeneral(this.#generalAddress, this.#options)
    return this.#general.serviceCache.find(service)
  }

  #findLocal(name: string, registry: Registry | undefined): LocalService | undefined {
    const { services, inProcess } = this.#options
    for (const service of services) if (service.name === name) return service
    return registry !== undefined && inProcess ? findLocalService(registry, name) : undefined
  }

  #openAddress(text: string): Upstream {
    const addresses = this.#addresses
    const existing = addresses.get(text)
    const upstream = existing ?? createFixed(text)
    if (existing !== undefined) addresses.delete(text)
    addresses.set(text, upstream)
    if (addresses.size > ADDRESSES_MAX) {
      const [oldest, unused] = addresses.entries().next().value!
      addresses.delete(oldest)
      unused.close()
    }
    return upstream
  }
}

function createGeneral(text: string, { tokens }: TargetsOptions) {
  const opened = openRegistry(text, { tokens: tokens?.() })
  return { opened, serviceCache: new ServiceCache(opened.registry, { upstream: () => UPSTREAM }) }
}

function withScheme(address: string): string {
  return SCHEME.test(address) ? address : `mx://${address}`
}

/** The node at an address; the default protocol is `mx`. @throws {TypeError} */
export function createFixed(text: string): Upstream {
  const protocol = SCHEME.exec(text)?.[1]
  const address = protocol === undefined ? text : text.slice(protocol.length + 3)
  let invalidReason: string | undefined
  const upstream = new Upstream(text, {
    createPool,
    onSkip: (_node, reason) => {
      invalidReason = reason
    },
  })
  const node = { id: text, address, metadata: { protocol: protocol ?? 'mx' } }
  upstream.update([{ name: text, version: '', metadata: {}, endpoints: [], nodes: [node] }])
  if (invalidReason !== undefined) throw new TypeError(invalidReason)
  return upstream
}

/**
 * Reads load balancing and policies from the metadata of a service. Invalid values are ignored, because gateways report
 * them.
 */
function readSettings(
  metadata: Readonly<Record<string, string>>,
): Pick<UpstreamOptions, 'balance' | 'policies'> {
  const balance = attempt(metadata[`${SETTING}balance`], parseBalance)
  const policies = attempt(metadata[`${SETTING}policies`], parsePolicies)
  return {
    // Calls have no address, path or cookie to hash.
    ...(balance && !/hash|maglev/.test(balance.kind) && { balance: { kind: balance.kind } }),
    // Otherwise every client would check all nodes.
    policies: mergePolicies('', policies, { health: 'off' }),
  }
}

function attempt<T>(text: string | undefined, parse: (text: string) => T): T | undefined {
  if (text === undefined) return undefined
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return undefined
  }
}

function createPool({ host, port, secure, pipeline, lookup }: PoolAddress): Pool {
  return new Pool({
    host,
    port,
    secure,
    lookup,
    pipeline,
    timeouts: { connectMs: CONNECT_TIMEOUT_MS, replyMs: NO_TIMEOUT_MS, idleMs: NO_TIMEOUT_MS },
    keepAliveMs: KEEP_ALIVE_MS,
    maxConnections: CONNECTIONS_MAX,
    maxWaiting: WAITING_MAX,
  })
}
