import { withTimeout } from '../../lib/async/timeout.ts'
import type { Registry, RegistryEvent, Service } from '../contracts/registry.ts'
import { GatewayError } from '../errors.ts'
import type { Upstream, UpstreamOptions } from '../upstream/upstream.ts'
import { Entry } from './cached-service.ts'
import { toRegistryFault } from './errors.ts'
import { follow } from './merge-versions.ts'
import { type Outage, Outages, type OutagesOptions } from './outage-tracker.ts'

export interface ServiceCacheOptions {
  /** How the nodes of a service are reached and chosen. Asked once per service, and again by {@link ServiceCache.reconfigure}. */
  readonly upstream: (service: string) => UpstreamOptions
  /** How often services in use are asked for again where the registry has no `watch`, or they have no nodes, and unused ones looked for; milliseconds. @default 5000 */
  readonly sweepMs?: number
  /** Milliseconds without a request after which a service counts as unused. @default 60000 */
  readonly unusedMs?: number
  /** Most unused services kept, where the registry has `watch`. @default 1000 */
  readonly maxUnused?: number
  /** Milliseconds the registry may take to answer. @default 5000 */
  readonly lookupTimeoutMs?: number
  /** Most first lookups at a time; more are answered 503. @default 256 */
  readonly maxLookups?: number
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
  /** Told when a service nobody uses yet could not be looked up, outside of outages. */
  readonly onError?: (service: string, error: unknown) => void
  /** Told when an outage of the registry begins, every minute while it lasts, and when it has ended; what was known goes on being used. */
  readonly onOutage?: OutagesOptions['onOutage']
}

/** A service in use, as the registry told of it last. */
export interface ServiceInUse {
  readonly upstream: Upstream
  /** Milliseconds since the registry could tell of it; 0: it can. */
  readonly downForMs: number
}

/** A lookup on its way, and what was told meanwhile. */
interface Lookup {
  readonly promise: Promise<Upstream | undefined>
  readonly events: RegistryEvent[]
}

/** Names that were looked up in vain and are remembered. */
const MAX_ABSENT = 10_000
/** Stands for the watch of all services, among the names of those that are watched. */
const ALL = '*'

/**
 * The gateway's own picture of the services it uses: what the registry said last, kept up to
 * date by watching each of them, and kept as it is while the registry does not answer. A node that goes missing
 * while the watch of its service is away stays for 95 s, unless it takes no connection; what a watch tells otherwise is true.
 */
export class ServiceCache {
  /** Rises when a service disappears, and when one appears that was looked up in vain: what was concluded from an earlier one may be wrong. */
  generation = 0
  readonly #registry: Registry
  readonly #options: ServiceCacheOptions
  readonly #nowMs: () => number
  readonly #entries = new Map<string, Entry>()
  readonly #lookups = new Map<string, Lookup>()
  /** Ends of the watches, by service. */
  readonly #watches = new Map<string, () => void>()
  readonly #outages: Outages
  /** Names somebody was told nobody registered, since the generation rose last. */
  readonly #absent = new Set<string>()
  readonly #sweeper: NodeJS.Timeout
  /** Lookups of services not in use yet: what clients can cause. */
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

  /** Services in use. */
  get size(): number {
    return this.#entries.size
  }

  /** Each of them. */
  *services(): Iterable<ServiceInUse> {
    for (const [name, { upstream }] of this.#entries)
      yield { upstream, downForMs: this.#outages.downForMs(name) }
  }

  /** The outage of the registry; undefined: it answers, as far as is known. */
  get outage(): Outage | undefined {
    return this.#outages.current
  }

  /**
   * The nodes of a service; undefined when nobody registered it. Synchronous when it is in use
   * already, or the registry answers synchronously.
   *
   * @throws {GatewayError} 503 when it is not in use yet and the registry does not answer, or refuses.
   */
  find(name: string): Upstream | undefined | Promise<Upstream | undefined> {
    const entry = this.#entries.get(name)
    if (entry !== undefined) return entry.upstream
    const lookup = this.#lookups.get(name)
    if (lookup !== undefined) return lookup.promise
    if (this.#firstLookups >= (this.#options.maxLookups ?? 256)) {
      throw new GatewayError(name, 503, 'too many services are being looked up', {
        headers: ['retry-after', '1'],
      })
    }
    return this.#lookUp(name)
  }

  /** Applies the node choice of {@link ServiceCacheOptions.upstream} to the services in use. */
  reconfigure(): void {
    for (const [name, { upstream }] of this.#entries)
      upstream.rebalance(this.#options.upstream(name).balance)
  }

  /** Holds nothing of these services any more: the caller knows what is gone. */
  settle(names: Iterable<string>): void {
    for (const name of names) {
      const entry = this.#entries.get(name)
      if (entry?.settle()) this.#use(entry)
    }
  }

  /** Forgets services unused for long, lets go of what was held long enough, and asks again where the registry has no `watch`, or told of no nodes. Runs by itself. */
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
      // Of the end of one that is known and does not run no event tells.
      else if (!watched || upstream.nodes.length === 0) this.#refresh(upstream.name)
    }
    // What nobody keeps up to date could lead to an address that is another service's by now.
    const kept = watched ? maxUnused : 0
    unused.sort((a, b) => b.usedMs - a.usedMs)
    for (const { upstream } of unused.slice(kept)) this.#forget(upstream.name)
  }

  /** Stops watching and closes the connections to all nodes. The registry is its owner's. */
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
    let answer: ReturnType<Registry['getService']>
    try {
      // First: what changes after the answer is told.
      this.#watch(name)
      answer = this.#registry.getService(name)
    } catch (error) {
      return this.#fail(name, error)
    }
    if (!(answer instanceof Promise)) return this.#apply(name, answer)
    const first = this.#entries.has(name) ? 0 : 1
    this.#firstLookups += first
    const events: RegistryEvent[] = []
    const done = (): void => {
      this.#firstLookups -= first
      this.#lookups.delete(name)
    }
    const promise = withTimeout(answer, this.#options.lookupTimeoutMs ?? 5000).then(
      (services) => {
        done()
        const upstream = this.#apply(name, events.reduce(follow, services))
        this.#outages.tell(name, undefined)
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

  /** Asks again about a service in use. */
  #refresh(name: string): void {
    if (this.#lookups.has(name)) return
    const pending = this.#lookUp(name)
    // The outage is told and the known nodes stay: there is nobody else to tell.
    if (pending instanceof Promise) pending.catch(() => {})
  }

  #fail(name: string, error: unknown): Upstream | undefined {
    const known = this.#entries.get(name)
    if (known !== undefined) {
      this.#outages.tell(name, error instanceof Error ? error : new Error(String(error)))
      return known.upstream
    }
    this.#unwatch(name)
    if (this.outage === undefined) this.#options.onError?.(name, error)
    throw new GatewayError(name, 503, `cannot look up ${name}: ${toRegistryFault(error)}`, {
      cause: error,
    })
  }

  /** Takes over what the registry says of a service. */
  #apply(name: string, told: readonly Service[]): Upstream | undefined {
    if (this.#closed) return undefined
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      if (told.length === 0) return this.#miss(name)
      entry = this.#open(name)
      this.#entries.set(name, entry)
    }
    entry.take(told, this.#outages.isAway(name))
    return this.#use(entry)
  }

  #open(name: string): Entry {
    const entry = new Entry({
      name,
      upstream: this.#options.upstream(name),
      nowMs: this.#nowMs,
      onRefuse: () => this.#use(entry),
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
    if (this.#absent.size >= MAX_ABSENT) this.#raise()
    this.#absent.add(name)
  }

  #watch(name: string): void {
    if (this.#registry.watch === undefined || this.#watches.has(name)) return
    const onOutage = (reason: Error | undefined): void => {
      // One that is looked up and not used yet has nothing to lose.
      if (reason === undefined || name === ALL || this.#entries.has(name))
        this.#outages.tell(name, reason)
    }
    const unwatch =
      name === ALL
        ? this.#registry.watch((event) => this.#hearOfAll(event), { onOutage })
        : this.#registry.watch((event) => this.#hear(name, event), {
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
    this.#outages.tell(name, undefined)
  }

  #hear(name: string, event: RegistryEvent): void {
    // Told in order: the last event is at least as new as the answer that is awaited.
    this.#lookups.get(name)?.events.push(event)
    const entry = this.#entries.get(name)
    if (entry !== undefined) this.#apply(name, follow(entry.told, event))
  }

  #hearOfAll({ type, service: { name } }: RegistryEvent): void {
    // Somebody may have been told that it does not exist, or is about to be.
    if (type !== 'delete' && (this.#absent.has(name) || this.#lookups.has(name))) this.#raise()
  }

  #raise(): void {
    this.generation++
    this.#absent.clear()
  }

  #forget(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#entries.delete(name)
    this.#unwatch(name)
    this.#raise()
    entry.upstream.close()
  }
}
