import type { HeaderList } from '../../../core/http/headers.ts'
import { parseHttpDate } from '../../../core/http/http-date.ts'
import {
  type Directives,
  isUnqualified,
  NO_DIRECTIVES,
  parseDirectives,
  readNames,
  readSeconds,
} from './directives.ts'

/** Defaults for responses that do not state them. */
export interface PolicyDefaults {
  /** Lifetime of successful responses without explicit freshness, in milliseconds; 0 for none. */
  readonly ttlMs: number
  /** Lifetimes of other statuses without explicit freshness, in milliseconds. */
  readonly negativeTtlMs: ReadonlyMap<number, number>
  /** Whether responses with `Last-Modified` and without explicit freshness are stored. */
  readonly isHeuristic: boolean
  readonly staleWhileRevalidateMs: number
  readonly staleIfErrorMs: number
  /** Whether responses with `Set-Cookie` are stored without `public`. */
  readonly storesCookies: boolean
}

/** Head of a response, with the wall clock at the request and at the response. */
export interface ResponseHead {
  readonly status: number
  readonly headers: HeaderList
  readonly requestMs: number
  readonly responseMs: number
}

/** How long and by which callers a stored response may be used. */
export interface ResponsePolicy {
  /** Freshness lifetime (RFC 9111 §4.2.1). */
  readonly lifetimeMs: number
  /** Age at `responseMs` (RFC 9111 §4.2.3). */
  readonly initialAgeMs: number
  readonly responseMs: number
  /** Whether every use requires validation (`no-cache`). */
  readonly mustValidate: boolean
  /** Whether a client may get a stale response (`max-stale`). */
  readonly allowsStale: boolean
  readonly staleWhileRevalidateMs: number
  readonly staleIfErrorMs: number
  /** Whether requests with credentials may use the response (RFC 9111 §3.5). */
  readonly isShareable: boolean
  /** Lower-case names of headers that are not stored. */
  readonly excluded: readonly string[]
}

/** Statuses that RFC 9110 §15.1 defines as heuristically cacheable, except 206. */
const HEURISTIC = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
/** Statuses whose caching requirements this cache implements (`must-understand`, RFC 9111 §5.2.2.3). */
const UNDERSTOOD = new Set([...HEURISTIC, 302, 303, 307, 400, 403, 500, 502, 503, 504])
/** Statuses for the default lifetime. */
const SUCCESSFUL = new Set([200, 203, 204, 300, 301, 308])
const HEURISTIC_SHARE = 0.1
const DAY_MS = 86_400_000
/** Age of a response with an invalid `Age`: stale. */
const TOO_OLD_S = 2 ** 31
/** Headers that are never stored (RFC 9111 §3.1). The listener and the upstream client remove hop-by-hop headers. */
const NEVER_STORED = [
  ...['age', 'cache-status', 'date'],
  ...['proxy-authenticate', 'proxy-authentication-info', 'proxy-authorization'],
]

/**
 * Decides whether a shared cache may store the response to a GET request, and for how long (RFC 9111 §3, RFC 9213).
 *
 * @param hasCredentials whether the request was authenticated.
 * @returns undefined if the response must not be stored, or could never be used.
 */
export function decidePolicy(
  head: ResponseHead,
  hasCredentials: boolean,
  defaults: PolicyDefaults,
): ResponsePolicy | undefined {
  const { status, headers, responseMs } = head
  const targeted = parseDirectives(headers, 'cdn-cache-control')
  const isTargeted = targeted !== NO_DIRECTIVES && targeted.size > 0
  const directives = isTargeted ? targeted : parseDirectives(headers)
  if (!mayStore(status, directives)) return undefined
  const isPublic = directives.has('public')
  const hasSharedAge = directives.has('s-maxage')
  const isShareable = isPublic || hasSharedAge || directives.has('must-revalidate')
  if (hasCredentials && !isShareable) return undefined
  if (headers.has('set-cookie') && !isPublic && !defaults.storesCookies) return undefined
  const mustValidate =
    isUnqualified(directives, 'no-cache') ||
    (directives === NO_DIRECTIVES && headers.get('pragma')?.toLowerCase() === 'no-cache')
  const lifetimeMs = findLifetimeMs(head, directives, isTargeted, defaults)
  if (lifetimeMs === undefined && !mustValidate) return undefined
  const isStrict =
    mustValidate || directives.has('must-revalidate') || directives.has('proxy-revalidate')
  const allowsStale = !isStrict && !hasSharedAge
  const toStaleMs = (name: string, fallbackMs: number): number => {
    if (isStrict) return 0
    const seconds = readSeconds(directives, name)
    if (seconds !== undefined) return seconds * 1000
    return allowsStale ? fallbackMs : 0
  }
  const policy: ResponsePolicy = {
    lifetimeMs: lifetimeMs ?? 0,
    initialAgeMs: findInitialAgeMs(head),
    responseMs,
    mustValidate,
    allowsStale,
    staleWhileRevalidateMs: toStaleMs('stale-while-revalidate', defaults.staleWhileRevalidateMs),
    staleIfErrorMs: toStaleMs('stale-if-error', defaults.staleIfErrorMs),
    isShareable,
    excluded: [
      ...NEVER_STORED,
      ...readNames(directives, 'private'),
      ...readNames(directives, 'no-cache'),
    ],
  }
  return isUsable(policy, headers) ? policy : undefined
}

/** Age of a stored response in milliseconds (RFC 9111 §4.2.3). */
export function toAgeMs({ initialAgeMs, responseMs }: ResponsePolicy, nowMs: number): number {
  return initialAgeMs + Math.max(0, nowMs - responseMs)
}

/** Returns `Date` of a response of a backend or a handler. */
export function readDate(headers: HeaderList): string | undefined {
  return headers.date ?? headers.get('date')
}

function mayStore(status: number, directives: Directives): boolean {
  if (status === 206 || status === 304) return false
  if (directives.has('must-understand')) {
    // It overrides `no-store` for caches that understand the status.
    if (!UNDERSTOOD.has(status)) return false
  } else if (directives.has('no-store')) return false
  return !isUnqualified(directives, 'private')
}

/** Returns undefined if the response has no lifetime. */
function findLifetimeMs(
  { status, headers, responseMs }: ResponseHead,
  directives: Directives,
  isTargeted: boolean,
  { ttlMs, negativeTtlMs, isHeuristic }: PolicyDefaults,
): number | undefined {
  const maxAge = readSeconds(directives, 's-maxage') ?? readSeconds(directives, 'max-age')
  if (maxAge !== undefined) return maxAge * 1000
  const dateMs = parseHttpDate(readDate(headers), responseMs) ?? responseMs
  if (!isTargeted && headers.has('expires')) {
    const [value, ...others] = headers.getAll('expires')
    const expiresMs = others.length > 0 ? undefined : parseHttpDate(value, responseMs)
    return expiresMs === undefined ? 0 : Math.max(0, expiresMs - dateMs)
  }
  const negativeMs = negativeTtlMs.get(status)
  if (negativeMs !== undefined) return negativeMs
  if (ttlMs > 0 && SUCCESSFUL.has(status)) return ttlMs
  const mayGuess = HEURISTIC.has(status) || directives.has('public')
  const modifiedMs = parseHttpDate(headers.get('last-modified'), responseMs)
  if (!mayGuess || !isHeuristic || modifiedMs === undefined) return undefined
  return Math.min(Math.max(0, dateMs - modifiedMs) * HEURISTIC_SHARE, DAY_MS)
}

function findInitialAgeMs({ headers, requestMs, responseMs }: ResponseHead): number {
  const dateMs = parseHttpDate(readDate(headers), responseMs)
  // `Date` has no fractions of a second.
  const secondMs = responseMs - (responseMs % 1000)
  const apparentMs = dateMs === undefined ? 0 : Math.max(0, secondMs - dateMs)
  const ages = headers.getAll('age')
  const delayMs = Math.max(0, responseMs - requestMs)
  return Math.max(apparentMs, readAge(ages) * 1000 + delayMs)
}

function readAge(ages: readonly string[]): number {
  if (ages.length === 0) return 0
  return ages.length === 1 && /^\d+$/.test(ages[0]!) ? Number(ages[0]) : TOO_OLD_S
}

/** Whether the response can be used at least once: fresh, stale or after validation. */
function isUsable(policy: ResponsePolicy, headers: HeaderList): boolean {
  const { lifetimeMs, initialAgeMs, mustValidate } = policy
  const usableMs =
    lifetimeMs + Math.max(policy.staleWhileRevalidateMs, policy.staleIfErrorMs) - initialAgeMs
  return (!mustValidate && usableMs > 0) || headers.has('etag') || headers.has('last-modified')
}
