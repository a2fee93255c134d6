import type { ReportFault } from '../../../core/chain.ts'
import type { PurgeSelection, ResponseCache } from '../../../core/contracts/response-caches.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { appendParsed } from '../../../core/http/headers.ts'
import { InternalExchange } from '../../../core/internal-exchange.ts'
import type { CompleteResponse, ResponseAction } from '../../../core/reply/complete-response.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import { BodyRecorder } from './body-recorder.ts'
import { type CacheTarget, toCacheKey, toCacheTarget } from './cache-key.ts'
import {
  addValidators,
  hasBackendConditions,
  hasConditions,
  hasValidator,
  restoreConditions,
  takeConditions,
} from './conditions.ts'
import { type Flight, Flights } from './flights.ts'
import { invalidate, isUnsafe } from './invalidation.ts'
import {
  allowsStaleOnError,
  judge,
  NO_REQUEST_DIRECTIVES,
  readRequestDirectives,
  requiresValidation,
} from './request-directives.ts'
import { toResponse } from './respond.ts'
import { decidePolicy, type PolicyDefaults, toAgeMs } from './response-policy.ts'
import { readVary, toSelectionValues } from './selection.ts'
import { ResponseStore } from './store.ts'
import { type StoredResponse, toStoredHead, toStoredResponse } from './stored-response.ts'
import { freshen, isSameRepresentation } from './validation.ts'

export interface HttpCacheOptions {
  readonly defaults: PolicyDefaults
  readonly maxBytes: number
  readonly maxObjectBytes: number
  readonly collapseTimeoutMs: number
  /** Whether cache directives of clients apply. */
  readonly followsClients: boolean
  /** Whether responses get `Cache-Status`. */
  readonly sendsStatus: boolean
  readonly nowMs: () => number
  readonly onFault: ReportFault
}

/** A request that the cache forwards. */
interface Fetch {
  readonly key: string
  readonly target: CacheTarget
  readonly requestMs: number
  readonly hasCredentials: boolean
  /** Reason of the request in `Cache-Status`. */
  readonly reason: string
  /** Response that needs validation; undefined if absent. */
  readonly stale: StoredResponse | undefined
  /** Conditions of the client, which a validation replaced; undefined if the request is not a validation. */
  readonly taken: readonly string[] | undefined
  /** Undefined if no other requests wait for this one. */
  readonly flight: Flight | undefined
  /** Whether the response was processed, so that another one is the cache's own. */
  isDone: boolean
}

const MAX_VARIANTS = 50
const MAX_WAITING = 20_000
/** Number of times that a request waits for others. */
const MAX_WAITS = 3
const MAX_REFRESHES = 200
const REFRESH_TIMEOUT_MS = 60_000
const STALE_STATUSES = new Set([500, 502, 503, 504])
const INVALIDATION = Symbol('invalidation')

/** A shared HTTP cache in memory (RFC 9111), as hooks of a plugin. */
export class HttpCache implements ResponseCache {
  readonly #options: HttpCacheOptions
  readonly #store: ResponseStore
  readonly #flights: Flights
  /** Background requests by the response that they refresh. */
  readonly #refreshes = new Map<StoredResponse, InternalExchange>()
  /** Key in `x.state`. */
  readonly #state = Symbol('cache')

  constructor(options: HttpCacheOptions) {
    this.#options = options
    this.#store = new ResponseStore({ maxBytes: options.maxBytes, maxVariants: MAX_VARIANTS })
    this.#flights = new Flights({ timeoutMs: options.collapseTimeoutMs, maxWaiting: MAX_WAITING })
  }

  purge(selection: PurgeSelection): number {
    return this.#store.purge(selection, this.#options.nowMs())
  }

  close(): void {
    for (const refresh of [...this.#refreshes.values()]) refresh.cancel('the cache was closed')
  }

  /** Responds with a stored response, or prepares the request to the backend. */
  onForward(x: Exchange): Maybe<void> {
    const { method, route } = x
    if (x.upgrade || route === undefined || route.rule?.handler !== undefined) return undefined
    if (method === 'GET' || method === 'HEAD')
      return x.bodyLength === 0 ? this.#serve(x, 0) : undefined
    if (isUnsafe(method)) x.state.set(this.#state, INVALIDATION)
    return undefined
  }

  /** Stores the response, or replaces it by a stored one. */
  onResponse(x: Exchange, length: number): ResponseAction | undefined {
    const fetch = x.state.get(this.#state) as Fetch | typeof INVALIDATION | undefined
    if (fetch === undefined) return undefined
    const nowMs = this.#options.nowMs()
    if (fetch === INVALIDATION) {
      invalidate(x, this.#store, nowMs)
      return undefined
    }
    if (fetch.isDone) return undefined
    fetch.isDone = true
    if (fetch.taken !== undefined) restoreConditions(x.headers, fetch.taken)
    if (x.method === 'HEAD') {
      this.#applyHead(x, fetch, length, nowMs)
      return undefined
    }
    const { stale, taken } = fetch
    if (stale !== undefined && taken !== undefined && x.status === 304)
      return this.#applyValidation(x, fetch, stale, nowMs)
    if (stale !== undefined && STALE_STATUSES.has(x.status)) {
      const response = this.#replaceError(x, stale, x.status, nowMs)
      if (response !== undefined) {
        fetch.flight?.end('late')
        return response
      }
    }
    return this.#record(x, fetch, length, nowMs)
  }

  /** Replaces an error of the gateway by a stale response. */
  onError(x: Exchange, error: GatewayError): CompleteResponse | undefined {
    const fetch = x.state.get(this.#state) as Fetch | typeof INVALIDATION | undefined
    if (fetch === undefined || fetch === INVALIDATION || fetch.isDone) return undefined
    fetch.isDone = true
    if (fetch.taken !== undefined) restoreConditions(x.headers, fetch.taken)
    const { stale } = fetch
    if (stale === undefined || error.code < 500) return undefined
    return this.#replaceError(x, stale, error.code, this.#options.nowMs())
  }

  /** Releases waiting requests if the response did not. */
  onDone(x: Exchange): void {
    const fetch = x.state.get(this.#state) as Fetch | typeof INVALIDATION | undefined
    if (fetch === undefined || fetch === INVALIDATION) return
    fetch.flight?.end(x.aborted ? 'canceled' : 'late')
  }

  /** @param waits number of times that the request has waited for others. */
  #serve(x: Exchange, waits: number): Maybe<void> {
    const { headers } = x
    if (hasBackendConditions(headers)) return undefined
    const request = this.#options.followsClients
      ? readRequestDirectives(headers)
      : NO_REQUEST_DIRECTIVES
    if (request.noStore) return undefined
    const nowMs = this.#options.nowMs()
    const key = toCacheKey(x)
    const hasCredentials = isAuthenticated(x)
    const found = this.#store.find(key, headers)
    const stored = hasCredentials && found?.policy.isShareable === false ? undefined : found
    if (stored !== undefined) {
      const usability = judge(stored.policy, request, nowMs)
      if (usability === 'refresh') this.#refresh(x, key, stored, hasCredentials, nowMs)
      if (usability !== 'validate') return this.#send(x, stored, nowMs, waits > 0)
    }
    if (request.onlyIfCached)
      throw new GatewayError(x.route!.service, 504, 'no stored response for only-if-cached')
    const isForced = requiresValidation(request)
    const names = this.#store.findVary(key)
    const isVariant = names !== undefined && names.length > 0
    const group = hasCredentials ? `private\n${key}` : key
    const flightKey = isVariant ? `${group}\n${toSelectionValues(names, headers)}` : group
    const flight = isForced || waits >= MAX_WAITS ? undefined : this.#flights.find(flightKey)
    if (flight !== undefined)
      return flight.wait().then((result) => {
        if (x.answered) return undefined
        const mayWait = result === 'stored' || result === 'canceled'
        return this.#serve(x, mayWait ? waits + 1 : MAX_WAITS)
      })
    const isValidation = x.method === 'GET' && stored !== undefined && hasValidator(stored)
    const mayLead = x.method === 'GET' && !isForced && (isValidation || !hasConditions(headers))
    const reason = stored !== undefined ? (isForced ? 'request' : 'stale') : toMissReason(names)
    x.state.set(this.#state, {
      ...{ key, hasCredentials, reason },
      target: toCacheTarget(x),
      requestMs: nowMs,
      stale: stored,
      taken: isValidation ? takeConditions(headers) : undefined,
      flight: mayLead ? this.#flights.begin(flightKey) : undefined,
      isDone: false,
    } satisfies Fetch)
    if (isValidation) addValidators(headers, stored)
    return undefined
  }

  #send(x: Exchange, stored: StoredResponse, nowMs: number, hasWaited: boolean): undefined {
    const { policy } = stored
    const ttl = Math.floor((policy.lifetimeMs - toAgeMs(policy, nowMs)) / 1000)
    const text = hasWaited ? 'fwd=uri-miss; collapsed' : `hit; ttl=${ttl}`
    const { status, headers, body } = this.#toResponse(x, stored, nowMs, text)
    x.send(status, headers, body)
  }

  /** Updates a stale response in the background, with the identity of the caller. */
  #refresh(
    x: Exchange,
    key: string,
    stale: StoredResponse,
    hasCredentials: boolean,
    nowMs: number,
  ): void {
    if (this.#refreshes.has(stale) || this.#refreshes.size >= MAX_REFRESHES) return
    const refresh = new InternalExchange(x, REFRESH_TIMEOUT_MS)
    takeConditions(refresh.headers)
    const isValidation = hasValidator(stale)
    if (isValidation) addValidators(refresh.headers, stale)
    refresh.state.set(this.#state, {
      ...{ key, hasCredentials, stale },
      target: toCacheTarget(x),
      requestMs: nowMs,
      reason: 'stale',
      taken: isValidation ? [] : undefined,
      flight: undefined,
      isDone: false,
    } satisfies Fetch)
    this.#refreshes.set(stale, refresh)
    const onFinish = () => this.#refreshes.delete(stale)
    void refresh.forward(x.chain, onFinish, this.#options.onFault)
  }

  #applyValidation(
    x: Exchange,
    { key, target, requestMs, hasCredentials, flight }: Fetch,
    stale: StoredResponse,
    nowMs: number,
  ): CompleteResponse {
    const { defaults } = this.#options
    const head = { status: 304, headers: x.replyHeaders, requestMs, responseMs: nowMs }
    const updated = freshen(stale, head, hasCredentials, defaults)
    if (updated === undefined) this.#store.delete(key, stale)
    else this.#store.set(key, target, updated, requestMs)
    flight?.end(updated !== undefined && isFresh(updated, nowMs) ? 'stored' : 'unshared')
    const status = `fwd=stale; fwd-status=304${updated === undefined ? '' : '; stored'}`
    return this.#toResponse(x, updated ?? stale, nowMs, status)
  }

  /** Updates the stored response for GET, or removes it if it has changed (RFC 9111 §4.3.5). */
  #applyHead(x: Exchange, fetch: Fetch, length: number, nowMs: number): void {
    const { key, stale, requestMs, hasCredentials, reason } = fetch
    const { status, replyHeaders: headers } = x
    if (stale !== undefined && status === 200 && stale.status === 200) {
      const head = { status, headers, requestMs, responseMs: nowMs }
      const updated = isSameRepresentation(stale, headers, length)
        ? freshen(stale, head, hasCredentials, this.#options.defaults)
        : undefined
      if (updated === undefined) this.#store.delete(key, stale)
      else this.#store.replace(key, stale, updated)
    }
    this.#addStatus(x, `fwd=${reason}; fwd-status=${status}`)
  }

  #record(x: Exchange, fetch: Fetch, length: number, nowMs: number): ResponseAction | undefined {
    const { key, target, requestMs, hasCredentials, flight, reason } = fetch
    const { status, replyHeaders: headers } = x
    const { defaults, maxObjectBytes } = this.#options
    const head = { status, headers, requestMs, responseMs: nowMs }
    const names = readVary(headers)
    const policy =
      names === undefined || length > maxObjectBytes
        ? undefined
        : decidePolicy(head, hasCredentials, defaults)
    if (policy === undefined) {
      flight?.end('unshared')
      this.#addStatus(x, `fwd=${reason}; fwd-status=${status}`)
      return undefined
    }
    const selection = { names: names!, values: toSelectionValues(names!, x.headers) }
    const storedHead = toStoredHead(status, headers, policy, selection)
    this.#addStatus(x, `fwd=${reason}; fwd-status=${status}; stored`)
    return new BodyRecorder({
      maxBytes: maxObjectBytes,
      length,
      onComplete: (body) => {
        const stored = toStoredResponse(storedHead, body)
        this.#store.set(key, target, stored, requestMs)
        flight?.end(isFresh(stored, this.#options.nowMs()) ? 'stored' : 'unshared')
      },
      onOverflow: () => flight?.end('unshared'),
    })
  }

  #replaceError(
    x: Exchange,
    stale: StoredResponse,
    status: number,
    nowMs: number,
  ): CompleteResponse | undefined {
    if (!allowsStaleOnError(stale.policy, nowMs)) return undefined
    const text = `fwd=stale; fwd-status=${status}; detail=stale-if-error`
    return this.#toResponse(x, stale, nowMs, text)
  }

  #toResponse(
    x: Exchange,
    stored: StoredResponse,
    nowMs: number,
    status: string,
  ): CompleteResponse {
    return toResponse(x, stored, nowMs, this.#options.sendsStatus ? `mx; ${status}` : undefined)
  }

  #addStatus({ replyHeaders }: Exchange, status: string): void {
    if (this.#options.sendsStatus) appendParsed(replyHeaders, 'cache-status', `mx; ${status}`)
  }
}

/** Whether the response may depend on the caller, so that sharing it requires the backend's consent (RFC 9111 §3.5). */
function isAuthenticated(x: Exchange): boolean {
  const { session, refusal, hasCaller, headers } = x
  return (
    session !== undefined ||
    refusal !== undefined ||
    hasCaller ||
    headers.has('authorization') ||
    headers.has('client-cert')
  )
}

function isFresh({ policy }: StoredResponse, nowMs: number): boolean {
  return !policy.mustValidate && toAgeMs(policy, nowMs) < policy.lifetimeMs
}

/** @param names names in `Vary` of the stored responses; undefined if nothing is stored. */
function toMissReason(names: readonly string[] | undefined): string {
  return names === undefined ? 'uri-miss' : 'vary-miss'
}
