import type { Exchange } from '../../../core/exchange.ts'
import { toOrigin, toUriKey } from './cache-key.ts'
import { readInvalidatedGroups } from './groups.ts'
import type { ResponseStore } from './store.ts'

/** Methods that do not change the target (RFC 9110 §9.2.1, RFC 10008). */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY'])
const REFERENCES = ['location', 'content-location']

export function isUnsafe(method: string): boolean {
  return !SAFE.has(method)
}

/**
 * Removes the responses that a successful unsafe request made outdated: for its URI, and for the URIs of the same origin
 * and the groups that its response lists (RFC 9111 §4.4, RFC 9875 §3).
 */
export function invalidate(x: Exchange, store: ResponseStore, nowMs: number): void {
  const { status, replyHeaders, originalTarget, namespace } = x
  if (status < 200 || status > 399) return
  store.invalidate(toUriKey(x, originalTarget), nowMs)
  const origin = toOrigin(x)
  for (const name of REFERENCES) {
    const reference = replyHeaders.get(name)
    if (reference === undefined || !URL.canParse(reference, `${origin}${originalTarget}`)) continue
    const url = new URL(reference, `${origin}${originalTarget}`)
    if (url.origin === new URL(origin).origin)
      store.invalidate(toUriKey(x, `${url.pathname}${url.search}`), nowMs)
  }
  for (const group of readInvalidatedGroups(replyHeaders))
    store.purge({ namespace, origin, group }, nowMs)
}
