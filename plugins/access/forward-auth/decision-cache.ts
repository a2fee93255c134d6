import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Exchange } from '../../../core/exchange.ts'
import { schemeOf } from '../../../core/http/scheme.ts'

export interface DecisionCacheOptions {
  readonly ttlMs: number
  readonly maxEntries: number
  /** Request headers that identify the caller, in lower case. */
  readonly key: readonly string[]
  /** Further request headers on which the decision depends, in lower case. */
  readonly trustedHeaders: readonly string[]
  readonly nowMs: () => number
}

interface Decision {
  readonly untilMs: number
  /** Names and values of request headers. */
  readonly headers: readonly string[]
}

/** Positive decisions of an authentication server. */
export interface DecisionCache {
  /** Returns the key of a request, or undefined (not cached) if it has no header that identifies a caller. */
  readonly toKey: (x: Exchange) => string | undefined
  readonly get: (key: string) => readonly string[] | undefined
  readonly set: (key: string, headers: readonly string[]) => void
}

/**
 * Creates a cache by method, URL, client address and `key`, since the decision may depend on any of them. Keys are
 * hashes, so that their length is bounded and memory contains no credentials.
 */
export function createDecisionCache({
  ttlMs,
  maxEntries,
  key,
  trustedHeaders,
  nowMs,
}: DecisionCacheOptions): DecisionCache {
  const decisions = new LRUCache<string, Decision>({ max: maxEntries })
  return {
    toKey(x) {
      const values = key.map((name) => x.headers.getAll(name))
      if (values.every((each) => each.length === 0)) return undefined
      const trustedValues = trustedHeaders.map((name) => x.headers.getAll(name))
      const parts = [x.method, schemeOf(x), x.host, x.originalTarget, x.clientAddress]
      return hash('sha256', JSON.stringify([...parts, values, trustedValues]), 'base64')
    },
    get(cacheKey) {
      const decision = decisions.get(cacheKey)
      return decision !== undefined && decision.untilMs > nowMs() ? decision.headers : undefined
    },
    set: (cacheKey, headers) => {
      decisions.set(cacheKey, { untilMs: nowMs() + ttlMs, headers })
    },
  }
}
