import { withTimeout } from '../../lib/async/timeout.ts'
import type { Registry, RegistryEvent, Service } from '../contracts/registry.ts'
import { GatewayError } from '../errors.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { UpstreamOptions } from '../upstream/upstream-options.ts'
import { Entry } from './cached-service.ts'
import { toRegistryFault } from './errors.ts'
import { applyEvent } from './merge-versions.ts'
import { type Outage, Outages, type OutagesOptions } from './outage-tracker.ts'

export interface ServiceCacheOptions {
  /**
   * Returns the upstream options of a service. Called once per service, and again by {@link ServiceCache.reconfigure}.
   */
  readonly upstream: (service: string) => UpstreamOptions
  /**
   * Interval for evicting unused services, and for refreshing services that have no nodes or whose registry has no
   * `watch`, in milliseconds. @default 5000
   */
  readonly sweepMs?: number
  /** Time without requests after which a service is unused, in milliseconds. @default 60000 */
  readonly unusedMs?: number
  /** Maximum number of unused services that stay cached if the registry has `watch`. @default 1000 */
  readonly maxUnused?: number
  /** Timeout of a lookup in milliseconds. @default 5000 */
  readonly lookupTimeoutMs?: number
  /** Maximum number of concurrent first lookups; further ones fail with 503. @default 256 */
  readonly maxLookups?: number
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly nowMs?: () => number
  /** Called if the first lookup of a service fails outside an outage. */
  readonly onError?: (service: string, error: unknown) => void
  /**
   * Called when a registry outage begins, every minute while it lasts, and when it has ended. The cached state is used
   * during the outage.
   */
  readonly onOutage?: OutagesOptions['onOutage']
}

/** A cached service. */
export interface ServiceInUse {
  readonly upstream: Upstream
  /** Milliseconds since updates of the service started to fail; 0 if they succeed. */
  readonly downForMs: number
}

/** A pending lookup, and events received since it started. */
interface Lookup {
  readonly promise: Promise<Upstream | undefined>
  readonly events: RegistryEvent[]
}

/** Maximum number of names cached as not found. */
const MAX_ABSENT = 10_000
/** Key of the watch of all services. */
const ALL = '*'

/**
 * Cache of the services in use, updated by watches. During a registry outage, the last known state is used. A node that
 * disappears while the watch of its service is failing is retained for 95 s, unless it refuses a connection.
 */
export class ServiceCache {
  /**
   * Increases when a service disappears, and when a service appears that was previously not found. Derived results may
   * then be stale.
   */
  generation = 0
  readonly #registry: Registry
  readonly #options: ServiceCacheOptions
  readonly #nowMs: () => number
  readonly #entries = new Map<string, Entry>()
  readonly #lookups = new Map<string, Lookup>()
  /** Functions that end the watches, by service. */
  readonly #watches = new Map<string, () => void>()
  readonly #outages: Outages
  /** Names reported as not found in the current generation. */
  readonly #absent = new Set<string>()
  readonly #sweeper: NodeJS.Timeout
  /** Number of pending lookups of new services, which clients can cause. */
  #firstLookups = 0
  #closed = false

  constructor(registry: Registry, options: ServiceCacheOptions) {
    this.#registry = registry
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#outages = new Outages({ nowMs: this.#nowMs, onOutage: options.onOutage })
    this.#watch(ALL)
    this.#sweeper = setInterval(() => this.sweep(), options.sweepMs ?? 5000).unref()
  }

  /** Number of cached services. */
  get size(): number {
    return this.#entries.size
  }

  /** Cached services. */
  *services(): Iterable<ServiceInUse> {
    for (const [name, { upstream }] of this.#entries)
      yield { upstream, downForMs: this.#outages.downForMs(name) }
  }

  /** The current registry outage; undefined while the registry is available. */
  get outage(): Outage | undefined {
    return this.#outages.current
  }

  /**
   * Finds the nodes of a service, or returns undefined if it is not registered. Synchronous if it is cached or the
   * registry is synchronous.
   *
   * @throws {GatewayError} 503 if it is not cached and the registry is unavailable or denies access.
   */
  find(name: string): Upstream | undefined | Promise<Upstream | undefined> {
    const entry = this.#entries.get(name)
    if (entry !== undefined) return entry.upstream
    const lookup = this.#lookups.get(name)
    if (lookup !== undefined) return lookup.promise
    if (this.#firstLookups >= (this.#options.maxLookups ?? 256)) {
      throw new GatewayError(name, 503, 'too many concurrent service lookups', {
        headers: ['retry-after', '1'],
      })
    }
    return this.#lookUp(name)
  }

  /** Applies changed settings of {@link ServiceCacheOptions.upstream} to cached services. */
  reconfigure(): void {
    for (const [name, entry] of this.#entries)
      if (entry.upstream.configure(this.#options.upstream(name))) this.#use(entry)
  }

  /** Drops retained nodes of these services, because the caller knows that the services are deregistered. */
  settle(names: Iterable<string>): void {
    for (const name of names) {
      const entry = this.#entries.get(name)
      if (entry?.settle()) this.#use(entry)
    }
  }

  /**
   * Evicts unused services and expired nodes, and refreshes services without nodes or watches. Called periodically.
   */
  sweep(): void {
    const { unusedMs = 60_000, maxUnused = 1000 } = this.#options
    const watched = this.#registry.watch !== undefined
    this.#outages.sweep()
    for (const entry of this.#entries.values()) if (entry.expire()) this.#use(entry)
    const now = this.#nowMs()
    const unused: Entry[] = []
    for (const entry of this.#entries.values()) {
      const { upstream } = entry
      if (upstream.used) {
        upstream.used = false
        entry.usedMs = now
      }
      const idle = now - entry.usedMs >= unusedMs
      if (idle && !upstream.nodes.some((node) => node.active > 0)) unused.push(entry)
      // No event reports the end of a registered service without nodes.
      else if (!watched || upstream.nodes.length === 0) this.#refresh(upstream.name)
    }
    // Without updates, an address could belong to another service by now.
    const maxCached = watched ? maxUnused : 0
    unused.sort((a, b) => b.usedMs - a.usedMs)
    for (const { upstream } of unused.slice(maxCached)) this.#forget(upstream.name)
  }

  /** Stops watching and closes the connections to all nodes. Does not close the registry. */
  close(): void {
    this.#closed = true
    clearInterval(this.#sweeper)
    for (const unwatch of this.#watches.values()) unwatch()
    this.#watches.clear()
    for (const { upstream } of this.#entries.values()) upstream.close()
    this.#entries.clear()
  }

  #lookUp(name: string): Upstream | undefined | Promise<Upstream | undefined> {
    if (this.#closed) return undefined
    let result: ReturnType<Registry['getService']>
    try {
      // Before the lookup, so that no later change is missed.
      this.#watch(name)
      result = this.#registry.getService(name)
    } catch (error) {
      return this.#fail(name, error)
    }
    if (!(result instanceof Promise)) return this.#apply(name, result)
    const first = this.#entries.has(name) ? 0 : 1
    this.#firstLookups += first
    const events: RegistryEvent[] = []
    const done = (): void => {
      this.#firstLookups -= first
      this.#lookups.delete(name)
    }
    const promise = withTimeout(result, this.#options.lookupTimeoutMs ?? 5000).then(
      (services) => {
        done()
        const upstream = this.#apply(name, events.reduce(applyEvent, services))
        this.#outages.report(name, undefined)
        return upstream
      },
      (error: unknown) => {
        done()
        return this.#fail(name, error)
      },
    )
    this.#lookups.set(name, { promise, events })
    return promise
  }

  /** Repeats the lookup of a cached service. */
  #refresh(name: string): void {
    if (this.#lookups.has(name)) return
    const pending = this.#lookUp(name)
    // The outage has already been reported, and the cached nodes stay.
    if (pending instanceof Promise) pending.catch(() => {})
  }

  #fail(name: string, error: unknown): Upstream | undefined {
    const cached = this.#entries.get(name)
    if (cached !== undefined) {
      this.#outages.report(name, error instanceof Error ? error : new Error(String(error)))
      return cached.upstream
    }
    this.#unwatch(name)
    if (this.outage === undefined) this.#options.onError?.(name, error)
    throw new GatewayError(name, 503, `cannot look up ${name}: ${toRegistryFault(error)}`, {
      cause: error,
    })
  }

  /** Applies the state of a service from the registry. */
  #apply(name: string, services: readonly Service[]): Upstream | undefined {
    if (this.#closed) return undefined
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      if (services.length === 0) return this.#miss(name)
      entry = this.#open(name)
      this.#entries.set(name, entry)
    }
    entry.take(services, this.#outages.isUnavailable(name))
    return this.#use(entry)
  }

  #open(name: string): Entry {
    const entry = new Entry({
      name,
      upstream: this.#options.upstream(name),
      nowMs: this.#nowMs,
      onNodeDropped: () => this.#use(entry),
    })
    return entry
  }

  #use(entry: Entry): Upstream | undefined {
    if (entry.use()) return entry.upstream
    this.#forget(entry.upstream.name)
    return undefined
  }

  #miss(name: string): undefined {
    this.#unwatch(name)
    if (this.#absent.size >= MAX_ABSENT) this.#nextGeneration()
    this.#absent.add(name)
  }

  #watch(name: string): void {
    if (this.#registry.watch === undefined || this.#watches.has(name)) return
    const onOutage = (reason: Error | undefined): void => {
      // A pending first lookup has no state to retain.
      if (reason === undefined || name === ALL || this.#entries.has(name))
        this.#outages.report(name, reason)
    }
    const unwatch =
      name === ALL
        ? this.#registry.watch((event) => this.#onAnyEvent(event), { onOutage })
        : this.#registry.watch((event) => this.#onEvent(name, event), {
            service: name,
            onOutage,
            idleMs: () => this.#idleMs(name),
          })
    this.#watches.set(name, unwatch)
  }

  #idleMs(name: string): number {
    const entry = this.#entries.get(name)
    return entry === undefined || entry.upstream.used ? 0 : this.#nowMs() - entry.usedMs
  }

  #unwatch(name: string): void {
    this.#watches.get(name)?.()
    this.#watches.delete(name)
    this.#outages.report(name, undefined)
  }

  #onEvent(name: string, event: RegistryEvent): void {
    // Events are ordered, so the last one is at least as new as the pending result.
    this.#lookups.get(name)?.events.push(event)
    const entry = this.#entries.get(name)
    if (entry !== undefined) this.#apply(name, applyEvent(entry.services, event))
  }

  #onAnyEvent({ type, service: { name } }: RegistryEvent): void {
    // The service was reported as not found, or is about to be.
    if (type !== 'delete' && (this.#absent.has(name) || this.#lookups.has(name)))
      this.#nextGeneration()
  }

  #nextGeneration(): void {
    this.generation++
    this.#absent.clear()
  }

  #forget(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#entries.delete(name)
    this.#unwatch(name)
    this.#nextGeneration()
    entry.upstream.close()
  }
}
