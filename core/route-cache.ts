import { LRUCache } from 'lru-cache'
import type { GatewayError } from './errors.ts'
import type { Route } from './route.ts'
import type { Upstream } from './upstream/upstream.ts'

export interface RouteCacheCounts {
  hits: number
  misses: number
}

export interface RouteCacheOptions {
  /** Maximum number of cached routes. @default 10000 */
  readonly max?: number
  /** Maximum number of cached failures. @default 1000 */
  readonly maxFailures?: number
  /** Lifetime of a cached failure in milliseconds. @default 5000 */
  readonly failureTtlMs?: number
  /** Maximum length of a cached key in characters; longer ones are resolved each time. @default 256 */
  readonly maxKeyLength?: number
  /** Counters, which several caches may share. @default separate counters */
  readonly counts?: RouteCacheCounts
  /** Monotonic clock. @default performance.now */
  readonly nowMs?: () => number
}

export interface CachedRoute {
  readonly route: Route
  /** Undefined if the route names a topic. */
  readonly upstream: Upstream | undefined
  /** Generation of service cache and resolver. */
  readonly generation: number
}

interface CachedFailure {
  readonly error: GatewayError
  readonly generation: number
}

/**
 * Routes by the part of the request line that they depend on. Bounded. Failures are cached separately, so that a flood
 * of unknown names evicts no routes. Entries from a generation other than the requested one count as missing.
 */
export class RouteCache {
  readonly counts: RouteCacheCounts
  readonly #routes: LRUCache<string, CachedRoute>
  readonly #failures: LRUCache<string, CachedFailure>
  readonly #maxKeyLength: number

  constructor({
    max = 10_000,
    maxFailures = 1000,
    failureTtlMs = 5000,
    maxKeyLength = 256,
    counts = { hits: 0, misses: 0 },
    nowMs = () => performance.now(),
  }: RouteCacheOptions = {}) {
    this.counts = counts
    this.#routes = new LRUCache({ max })
    // ttlResolution 0: lru-cache reads the clock each time and starts no timer.
    this.#failures = new LRUCache({
      max: maxFailures,
      ttl: failureTtlMs,
      ttlResolution: 0,
      perf: { now: nowMs },
    })
    this.#maxKeyLength = maxKeyLength
  }

  /** Number of cached routes and failures. */
  get size(): number {
    return this.#routes.size + this.#failures.size
  }

  get(key: string, generation: number): CachedRoute | undefined {
    const cached = this.#routes.get(key)
    if (cached === undefined || cached.generation !== generation) {
      this.counts.misses++
      return undefined
    }
    this.counts.hits++
    return cached
  }

  set(key: string, cached: CachedRoute): void {
    if (key.length <= this.#maxKeyLength) this.#routes.set(key, cached)
  }

  getFailure(key: string, generation: number): GatewayError | undefined {
    const cached = this.#failures.get(key)
    if (cached === undefined || cached.generation !== generation) return undefined
    // `get` has counted a miss before.
    this.counts.misses--
    this.counts.hits++
    return cached.error
  }

  setFailure(key: string, error: GatewayError, generation: number): void {
    if (key.length <= this.#maxKeyLength) this.#failures.set(key, { error, generation })
  }
}
