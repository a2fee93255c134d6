import { LRUCache } from 'lru-cache'
import type { PurgeSelection } from '../../../core/contracts/response-caches.ts'
import type { HeaderList } from '../../../core/http/headers.ts'
import { joinName } from '../../../core/route.ts'
import type { CacheTarget } from './cache-key.ts'
import { toSelectionValues } from './selection.ts'
import type { StoredResponse } from './stored-response.ts'

export interface StoreLimits {
  readonly maxBytes: number
  /** Maximum number of responses per URI. */
  readonly maxVariants: number
}

interface Entry {
  readonly target: CacheTarget
  /** The latest one first. */
  readonly variants: readonly StoredResponse[]
}

/** Number of invalidated URIs, and of namespaces with purges, whose times are remembered. */
const REMOVED_MAX = 10_000

/** Stored responses in memory, least recently used keys evicted first. */
export class ResponseStore {
  readonly #limits: StoreLimits
  readonly #entries: LRUCache<string, Entry>
  /** Keys by URI. */
  readonly #keys = new Map<string, Set<string>>()
  /** Times of invalidations by URI, so that responses requested earlier are not stored. */
  readonly #removedMs = new LRUCache<string, number>({ max: REMOVED_MAX })
  /** Times of purges by namespace, and the time of the last purge of all namespaces. */
  readonly #purgedMs = new LRUCache<string, number>({ max: REMOVED_MAX })
  #allPurgedMs = Number.NEGATIVE_INFINITY

  constructor(limits: StoreLimits) {
    this.#limits = limits
    this.#entries = new LRUCache({
      maxSize: limits.maxBytes,
      sizeCalculation: ({ variants }, key) =>
        variants.reduce((sum, { bytes }) => sum + bytes, key.length),
      dispose: ({ target }, key, reason) => {
        if (reason !== 'set') this.#forget(target.uriKey, key)
      },
    })
  }

  /** Number of bytes in use. */
  get bytes(): number {
    return this.#entries.calculatedSize
  }

  /** Returns the response that a request with these headers selects. */
  find(key: string, headers: HeaderList): StoredResponse | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    const { variants } = entry
    for (let i = 0; i < variants.length; i++) {
      const { selection } = variants[i]!
      if (selection.names.length === 0) return variants[i]
      if (toSelectionValues(selection.names, headers) === selection.values) return variants[i]
    }
    return undefined
  }

  /** Names in `Vary` of the latest response; undefined if the key is unknown. */
  findVary(key: string): readonly string[] | undefined {
    return this.#entries.peek(key)?.variants[0]?.selection.names
  }

  /** @param requestMs time of the request. A response requested before an invalidation is not stored. */
  set(key: string, target: CacheTarget, response: StoredResponse, requestMs: number): void {
    const { uriKey, namespace } = target
    if (requestMs <= this.#allPurgedMs) return
    if (requestMs <= (this.#removedMs.peek(uriKey) ?? Number.NEGATIVE_INFINITY)) return
    if (requestMs <= (this.#purgedMs.peek(namespace) ?? Number.NEGATIVE_INFINITY)) return
    const others = this.#entries.peek(key)?.variants ?? []
    const variants = [response, ...others.filter((other) => !isSameSelection(other, response))]
    this.#entries.set(key, { target, variants: variants.slice(0, this.#limits.maxVariants) })
    // The store does not accept entries beyond its size.
    if (!this.#entries.has(key)) return
    const keys = this.#keys.get(uriKey)
    if (keys === undefined) this.#keys.set(uriKey, new Set([key]))
    else keys.add(key)
  }

  /** Replaces a response, unless it was removed. */
  replace(key: string, old: StoredResponse, response: StoredResponse): void {
    const entry = this.#entries.peek(key)
    if (entry === undefined || !entry.variants.includes(old)) return
    const variants = entry.variants.map((each) => (each === old ? response : each))
    this.#entries.set(key, { target: entry.target, variants })
  }

  /** Removes a response. */
  delete(key: string, response: StoredResponse): void {
    const entry = this.#entries.peek(key)
    if (entry === undefined) return
    const variants = entry.variants.filter((each) => each !== response)
    if (variants.length === 0) this.#entries.delete(key)
    else this.#entries.set(key, { target: entry.target, variants })
  }

  /** Removes all responses for a URI. */
  invalidate(uriKey: string, nowMs: number): void {
    this.#removedMs.set(uriKey, nowMs)
    for (const key of [...(this.#keys.get(uriKey) ?? [])]) this.#entries.delete(key)
  }

  /** Returns the number of removed responses. */
  purge(selection: PurgeSelection, nowMs: number): number {
    if (selection.namespace === undefined) this.#allPurgedMs = nowMs
    else this.#purgedMs.set(selection.namespace, nowMs)
    const matches = compileSelection(selection)
    let removed = 0
    for (const [key, { target, variants }] of [...this.#entries.entries()]) {
      const rest = variants.filter((response) => !matches(target, response))
      removed += variants.length - rest.length
      if (rest.length === 0) this.#entries.delete(key)
      else if (rest.length < variants.length) this.#entries.set(key, { target, variants: rest })
    }
    return removed
  }

  #forget(uriKey: string, key: string): void {
    const keys = this.#keys.get(uriKey)
    if (keys?.delete(key) && keys.size === 0) this.#keys.delete(uriKey)
  }
}

function isSameSelection(a: StoredResponse, b: StoredResponse): boolean {
  const { names, values } = a.selection
  const other = b.selection
  return values === other.values && names.join() === other.names.join()
}

function compileSelection({
  namespace,
  service,
  origin,
  path,
  group,
}: PurgeSelection): (target: CacheTarget, response: StoredResponse) => boolean {
  const isPrefix = path?.endsWith('*') === true
  const prefix = isPrefix ? path.slice(0, -1) : undefined
  return (target, { groups }) =>
    (namespace === undefined || target.namespace === namespace) &&
    (service === undefined ||
      target.service === service ||
      target.service === joinName(target.namespace, service)) &&
    (origin === undefined || target.origin === origin) &&
    (path === undefined ||
      (prefix === undefined ? target.path === path : target.path.startsWith(prefix))) &&
    (group === undefined || groups.includes(group))
}
