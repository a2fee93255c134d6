import type { Registry, RegistryEvent, Service } from './contracts/registry.ts'
import { GatewayError } from './errors.ts'
import { inTime } from './in-time.ts'
import { Upstream, type UpstreamOptions } from './upstream/upstream.ts'

export interface DirectoryOptions {
  /** How the nodes of a service are reached and chosen. Asked once per service, and again by {@link Directory.reconfigure}. */
  readonly upstream: (service: string) => UpstreamOptions
  /** How often services in use are asked for again where the registry has no `watch`, and unused ones looked for; milliseconds. @default 5000 */
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
  /** Told when the registry failed; what was known goes on being used. */
  readonly onError?: (service: string, error: unknown) => void
}

/** A service in use. */
interface Entry {
  readonly upstream: Upstream
  /** All versions. */
  services: readonly Service[]
  usedMs: number
}

/** A lookup on its way, and what was told meanwhile. */
interface Lookup {
  readonly promise: Promise<Upstream | undefined>
  readonly events: RegistryEvent[]
}

/**
 * The gateway's own picture of the services it uses: what the registry said last, kept up to
 * date by watching it, and kept as it is while the registry does not answer.
 */
export class Directory {
  /** Rises when a service appears or disappears: what was concluded from an earlier one may be wrong. */
  generation = 0
  readonly #registry: Registry
  readonly #options: DirectoryOptions
  readonly #nowMs: () => number
  readonly #entries = new Map<string, Entry>()
  readonly #lookups = new Map<string, Lookup>()
  readonly #unwatch: (() => void) | undefined
  readonly #sweeper: NodeJS.Timeout
  /** Lookups of services not in use yet: what clients can cause. */
  #firstLookups = 0
  #closed = false

  constructor(registry: Registry, options: DirectoryOptions) {
    this.#registry = registry
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#unwatch = registry.watch?.((event) => this.#hear(event))
    this.#sweeper = setInterval(() => this.sweep(), options.sweepMs ?? 5000).unref()
  }

  /** Services in use. */
  get size(): number {
    return this.#entries.size
  }

  /**
   * The nodes of a service; undefined when nobody registered it. Synchronous when it is in use
   * already, or the registry answers synchronously.
   *
   * @throws {GatewayError} 503 when it is not in use yet and the registry does not answer.
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

  /** Applies the node choice of {@link DirectoryOptions.upstream} to the services in use. */
  reconfigure(): void {
    for (const [name, { upstream }] of this.#entries)
      upstream.rebalance(this.#options.upstream(name).balance)
  }

  /** Forgets services unused for long, and asks for the others again where the registry has no `watch`. Runs by itself. */
  sweep(): void {
    const { unusedMs = 60_000, maxUnused = 1000 } = this.#options
    const watched = this.#registry.watch !== undefined
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
      else if (!watched) this.#refresh(upstream.name)
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
    this.#unwatch?.()
    for (const { upstream } of this.#entries.values()) upstream.close()
    this.#entries.clear()
  }

  #lookUp(name: string): Upstream | undefined | Promise<Upstream | undefined> {
    let answer: ReturnType<Registry['getService']>
    try {
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
    const promise = inTime(answer, this.#options.lookupTimeoutMs ?? 5000).then(
      (services) => {
        done()
        return this.#apply(name, events.reduce(follow, services))
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
    // A failure was reported and the known nodes stay: there is nobody to tell.
    if (pending instanceof Promise) pending.catch(() => {})
  }

  #fail(name: string, error: unknown): Upstream | undefined {
    this.#options.onError?.(name, error)
    const known = this.#entries.get(name)
    if (known !== undefined) return known.upstream
    throw new GatewayError(name, 503, `cannot look up ${name}: the registry does not answer`, {
      cause: error,
    })
  }

  #apply(name: string, services: readonly Service[]): Upstream | undefined {
    if (this.#closed) return undefined
    if (services.length === 0) {
      this.#forget(name)
      return undefined
    }
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      entry = {
        upstream: new Upstream(name, this.#options.upstream(name)),
        services,
        usedMs: this.#nowMs(),
      }
      this.#entries.set(name, entry)
    }
    entry.services = services
    entry.upstream.update(services)
    return entry.upstream
  }

  #hear(event: RegistryEvent): void {
    const { name } = event.service
    const entry = this.#entries.get(name)
    // Somebody may have been told that it does not exist.
    if (entry === undefined && event.type !== 'delete') this.generation++
    // Told in order: the last event is at least as new as the answer that is awaited.
    this.#lookups.get(name)?.events.push(event)
    if (entry !== undefined) this.#apply(name, follow(entry.services, event))
  }

  #forget(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#entries.delete(name)
    this.generation++
    entry.upstream.close()
  }
}

/** The versions of a service after an event. */
function follow(
  services: readonly Service[],
  { type, service }: RegistryEvent,
): readonly Service[] {
  const others = services.filter(({ version }) => version !== service.version)
  return type === 'delete' ? others : [...others, service]
}
