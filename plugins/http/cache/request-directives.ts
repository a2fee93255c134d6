import type { HeaderList } from '../../../core/http/headers.ts'
import { parseDirectives, readSeconds } from './directives.ts'
import { type ResponsePolicy, toAgeMs } from './response-policy.ts'

/** Cache directives of a request (RFC 9111 §5.2.1). Numbers are in milliseconds, undefined if missing. */
export interface RequestDirectives {
  readonly noStore: boolean
  readonly noCache: boolean
  readonly onlyIfCached: boolean
  readonly maxAgeMs: number | undefined
  readonly minFreshMs: number | undefined
  readonly maxStaleMs: number | undefined
}

export const NO_REQUEST_DIRECTIVES: RequestDirectives = {
  noStore: false,
  noCache: false,
  onlyIfCached: false,
  maxAgeMs: undefined,
  minFreshMs: undefined,
  maxStaleMs: undefined,
}

const NO_CACHE: RequestDirectives = { ...NO_REQUEST_DIRECTIVES, noCache: true }

export function readRequestDirectives(headers: HeaderList): RequestDirectives {
  if (!headers.has('cache-control')) {
    // RFC 9111 §5.4.
    const pragma = headers.get('pragma')
    return pragma !== undefined && /(?:^|,)\s*no-cache\s*(?:,|$)/i.test(pragma)
      ? NO_CACHE
      : NO_REQUEST_DIRECTIVES
  }
  const directives = parseDirectives(headers)
  const toMs = (name: string): number | undefined => {
    const seconds = readSeconds(directives, name)
    return seconds && seconds * 1000
  }
  return {
    noStore: directives.has('no-store'),
    noCache: directives.has('no-cache'),
    onlyIfCached: directives.has('only-if-cached'),
    maxAgeMs: toMs('max-age'),
    minFreshMs: toMs('min-fresh'),
    // Without a value, any age is accepted.
    maxStaleMs: directives.get('max-stale')?.includes('')
      ? Number.POSITIVE_INFINITY
      : toMs('max-stale'),
  }
}

/** Whether the client requires a newer response than a cache would use. */
export function requiresValidation({ noCache, maxAgeMs }: RequestDirectives): boolean {
  return noCache || maxAgeMs === 0
}

/**
 * How a stored response may be used: as it is, as it is while it is refreshed, or only after validation (RFC 9111 §4.2,
 * RFC 5861 §3).
 */
export type Usability = 'fresh' | 'refresh' | 'validate'

export function judge(
  policy: ResponsePolicy,
  request: RequestDirectives,
  nowMs: number,
): Usability {
  if (policy.mustValidate || request.noCache) return 'validate'
  const ageMs = toAgeMs(policy, nowMs)
  if (request.maxAgeMs !== undefined && ageMs > request.maxAgeMs) return 'validate'
  const remainingMs = policy.lifetimeMs - ageMs
  if (remainingMs > 0) return remainingMs >= (request.minFreshMs ?? 0) ? 'fresh' : 'validate'
  if (request.minFreshMs !== undefined) return 'validate'
  const { maxStaleMs } = request
  if (policy.allowsStale && maxStaleMs !== undefined && -remainingMs <= maxStaleMs) return 'fresh'
  return -remainingMs <= policy.staleWhileRevalidateMs && policy.staleWhileRevalidateMs > 0
    ? 'refresh'
    : 'validate'
}

/** Whether a stale response may replace an error (RFC 5861 §4). */
export function allowsStaleOnError(policy: ResponsePolicy, nowMs: number): boolean {
  const staleMs = toAgeMs(policy, nowMs) - policy.lifetimeMs
  return policy.staleIfErrorMs > 0 && staleMs <= policy.staleIfErrorMs
}
