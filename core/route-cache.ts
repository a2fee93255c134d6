import { LRUCache } from 'lru-cache'
import type { GatewayError } from './errors.ts'
import type { Route } from './route.ts'
import type { Upstream } from './upstream/upstream.ts'

/** How often a route was found in a cache, or in none of several that share this. */
export interface RouteCacheCounts {
  hits: number
  misses: number
}

export interface RouteCacheOptions {
  /** Most routes kept. @default 10000 */
  readonly max?: number
  /** Most failures to route kept. @default 1000 */
  readonly maxFailures?: number
  /** How long a failure is kept, milliseconds. @default 5000 */
  readonly failureTtlMs?: number
  /** Longest key kept, characters: what is longer is worked out anew each time. @default 256 */
  readonly maxKeyLength?: number
  /** Where look-ups are counted. @default its own */
  readonly counts?: RouteCacheCounts
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
}

/** A resolved request line. */
export interface CachedRoute {
  readonly route: Route
  /** Undefined: the route names a topic. */
  readonly upstream: Upstream | undefined
  /** Generation of the directory and the resolver it was found in. */
  readonly generation: number
}

interface CachedFailure {
  readonly error: GatewayError
  readonly generation: number
}

/**
 * Routes by the part of the request line they depend on. Bounded, and a flood of names that
 * do not exist drives out no route that does: failures have a small place of their own.
 *
 * Entries of another generation than the asked one are as good as absent.
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
    // ttlResolution 0: lru-cache asks the given clock each time, and starts no timer of its own.
    this.#failures = new LRUCache({
      max: maxFailures,
      ttl: failureTtlMs,
      ttlResolution: 0,
      perf: { now: nowMs },
    })
    this.#maxKeyLength = maxKeyLength
  }

  /** Routes and failures kept. */
  get size(): number {
    return this.#routes.size + this.#failures.size
  }

  get(key: string, generation: number): CachedRoute | undefined {
    const found = this.#routes.get(key)
    if (found === undefined || found.generation !== generation) {
      this.counts.misses++
      return undefined
    }
    this.counts.hits++
    return found
  }

  set(key: string, cached: CachedRoute): void {
    if (key.length <= this.#maxKeyLength) this.#routes.set(key, cached)
  }

  getFailure(key: string, generation: number): GatewayError | undefined {
    const found = this.#failures.get(key)
    if (found === undefined || found.generation !== generation) return undefined
    // What is known to be nowhere was no miss.
    this.counts.misses--
    this.counts.hits++
    return found.error
  }

  setFailure(key: string, error: GatewayError, generation: number): void {
    if (key.length <= this.#maxKeyLength) this.#failures.set(key, { error, generation })
  }
}
