import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Maybe } from '../../lib/async/maybe.ts'
import type {
  Access,
  Authorizer,
  AuthSource,
  Ruling,
  Session,
  TokenKnowledge,
} from '../contracts/auth.ts'
import { GatewayError } from '../errors.ts'
import { DEFAULT_DOMAIN } from '../registry/service.ts'
import { DEFAULT_RULE } from './policy/default-rule.ts'
import { isLoginEndpoint } from './policy/login-endpoint.ts'
import { Policy } from './policy/policy.ts'
import { API_KEY_CACHE_MS, isApiKey } from './token/api-key.ts'
import { ApiKeyVerifier } from './token/api-key-verifier.ts'
import { ResilientWatch } from './token/resilient-watch.ts'
import { Sessions } from './token/sessions.ts'
import { TokenError } from './token/token-error.ts'

export interface AuthorizerOptions {
  /** Called when the source becomes unavailable, and with undefined once it is available again. @default no-op */
  readonly onOutage?: (reason: Error | undefined) => void
  /** Called with the reason for each rejected token, once per recent token. @default no-op */
  readonly onDenied?: (reason: string) => void
  /** Maximum time a call waits for the first rules or keys, in milliseconds. @default 5000 */
  readonly waitMs?: number
  /**
   * Maximum number of namespaces with cached rules; the least recently used are evicted. Namespaces without rules do
   * not count. @default 1000
   */
  readonly maxNamespaces?: number
  readonly nowMs?: () => number
}

/** Maximum number of cached rejected tokens. The cache ensures that each token is reported once. */
const REJECTED_MAX = 1000
/** Number of signature characters that identify a token. */
const KEY_LENGTH = 86
/** Changes within this interval are reported together. */
const NOTIFY_MS = 50
/**
 * Minimum interval between evictions: calls allowed by evicted rules reload them, which may evict other rules.
 */
const EVICT_MS = 1000
const NO_KEYS: ReadonlyMap<string, KeyObject> = new Map()
const GRANTED: Ruling = { granted: true, rule: undefined }
const BY_DEFAULT: Ruling = { granted: true, rule: DEFAULT_RULE }

/** Creates an authorizer that watches keys, and the rules of the namespaces in use. */
export function createAuthorizer(source: AuthSource, options: AuthorizerOptions = {}): Authorizer {
  const {
    onOutage = () => {},
    onDenied: onRefused = () => {},
    waitMs = 5000,
    nowMs = Date.now,
  } = options
  const { maxNamespaces = 1000 } = options
  const listeners = new Set<() => void>()
  const rejected = new LRUCache<string, true>({ max: REJECTED_MAX })
  const failing = new Set<object>()
  let notifyTimer: NodeJS.Timeout | undefined
  let evictTimer: NodeJS.Timeout | undefined
  let closed = false

  const notify = (): void => {
    notifyTimer = undefined
    for (const listener of [...listeners]) listener()
  }
  const changed = (): void => {
    if (!closed && listeners.size > 0) notifyTimer ??= setTimeout(notify, NOTIFY_MS).unref()
  }
  const evicted = (): void => {
    if (!closed) evictTimer ??= setTimeout(onEvicted, EVICT_MS).unref()
  }
  const onEvicted = (): void => {
    evictTimer = undefined
    changed()
  }
  const logOutage = (watch: object, reason: Error | undefined): void => {
    // Closing the watch is not a recovery.
    if (closed) return
    const before = failing.size
    if (reason === undefined) failing.delete(watch)
    else failing.add(watch)
    if (before === 0 && failing.size > 0) onOutage(reason)
    if (before > 0 && failing.size === 0) onOutage(undefined)
  }
  const watch = <T>(
    open: (signal: AbortSignal) => AsyncIterable<T>,
    onChange: (value: T, before: T) => void,
  ): ResilientWatch<T> => {
    const id = {}
    const onLost = (reason: Error | undefined): void => logOutage(id, reason)
    return new ResilientWatch({ open, onChange, onOutage: onLost, waitMs })
  }

  const tokens = watch<TokenKnowledge>(source.watchTokens, (next, before) => {
    sessions.forget(hasLostKey(next.keys, before.keys))
    changed()
  })
  const sessions = new Sessions({
    keys: () => tokens.value?.keys ?? NO_KEYS,
    isRevoked: (session) => tokens.value!.isRevoked(session),
    nowMs,
  })
  const apiKeys = new ApiKeyVerifier({
    verify: async (key) => source.verifyApiKey?.(key),
    isRevoked: (session) => tokens.value!.isRevoked(session),
    onVerified: (key, session) => void sessions.add(key, session, nowMs() + API_KEY_CACHE_MS),
    nowMs,
  })
  const namespaceWatch = watch<ReadonlySet<string>>(source.watchNamespaces, (next, before) => {
    if (next.size !== before.size || ![...next].every((name) => before.has(name))) changed()
  })
  const namespaces = new LRUCache<string, ResilientWatch<Policy>>({
    max: maxNamespaces,
    dispose(watch) {
      watch.close()
      // Changes to evicted rules are not reported. Authorizing the open calls again restarts the watch.
      evicted()
    },
  })
  const watchNamespace = (namespace: string): ResilientWatch<Policy> => {
    const rules = watch(
      (signal) => toPolicies(namespace, source.watchRules(namespace, signal)),
      changed,
    )
    namespaces.set(namespace, rules)
    return rules
  }
  const decide = (access: Access): Maybe<Ruling> => {
    const { namespace } = access
    let watch = namespaces.get(namespace)
    if (watch === undefined && namespace !== DEFAULT_DOMAIN) {
      const names = namespaceWatch.value
      if (names === undefined) return decideNamed(access)
      if (!names.has(namespace)) return BY_DEFAULT
    }
    watch ??= watchNamespace(namespace)
    const policy = watch.value
    return policy === undefined ? decideWhenReady(watch, access) : rule(policy, access)
  }
  const decideNamed = async (access: Access): Promise<Ruling> =>
    (await waitForFirst(namespaceWatch, access)) === undefined ? GRANTED : decide(access)
  const decideWhenReady = async (
    watch: ResilientWatch<Policy>,
    access: Access,
  ): Promise<Ruling> => {
    const policy = await waitForFirst(watch, access)
    return policy === undefined ? GRANTED : rule(policy, access)
  }
  const verify = (token: string): Maybe<Session> => {
    if (tokens.value === undefined) return verifyLater(token)
    try {
      const session = isApiKey(token) ? apiKeys.verify(token) : sessions.verify(token)
      return session instanceof Promise ? session.catch((error) => reject(token, error)) : session
    } catch (error) {
      return reject(token, error)
    }
  }
  const verifyLater = async (token: string): Promise<Session> => {
    await tokens.first().catch((cause: unknown) => {
      throw toUnavailable('auth', 'access token keys', cause)
    })
    return verify(token)
  }
  const reject = (token: string, error: unknown): never => {
    const key = token.slice(-KEY_LENGTH)
    if (error instanceof TokenError && !rejected.has(key)) {
      rejected.set(key, true)
      onRefused(error.message)
    }
    throw error
  }

  return {
    identify: (token) => sessions.getCached(token) ?? verify(token),

    decide,

    ...(source.requestQuotas !== undefined && { requestQuotas: source.requestQuotas }),

    onChange(listener) {
      // Wrapped in a new function because the same listener may be added twice.
      const entry = (): void => listener()
      listeners.add(entry)
      return () => void listeners.delete(entry)
    },

    close() {
      closed = true
      clearTimeout(notifyTimer)
      clearTimeout(evictTimer)
      listeners.clear()
      tokens.close()
      namespaceWatch.close()
      namespaces.clear()
    },
  }
}

async function* toPolicies(
  namespace: string,
  versions: AsyncIterable<ConstructorParameters<typeof Policy>[1]>,
): AsyncGenerator<Policy, void, undefined> {
  for await (const rules of versions) yield new Policy(namespace, rules)
}

function rule(policy: Policy, { account, resource }: Access): Ruling {
  const { type, name, endpoint } = resource
  const caller = policy.caller(account)
  const ruling =
    type === 'service' ? caller.call(name, endpoint) : caller.access(type, name, endpoint)
  if (ruling.granted || account === undefined) return ruling
  const missingScope = policy.findMissingScope(account, resource)
  return missingScope === undefined ? ruling : { ...ruling, missingScope }
}

/** Waits for the first value of a watch. Returns undefined if it is unavailable but the call is a login. */
function waitForFirst<T>(watch: ResilientWatch<T>, { resource }: Access): Promise<T | undefined> {
  return watch.first().catch((cause: unknown) => {
    if (isLoginEndpoint(resource)) return undefined
    throw toUnavailable(resource.name, 'access rules', cause)
  })
}

/** True if a key was removed or replaced. */
function hasLostKey(
  now: ReadonlyMap<string, KeyObject>,
  before: ReadonlyMap<string, KeyObject>,
): boolean {
  for (const [id, key] of before) if (now.get(id)?.equals(key) !== true) return true
  return false
}

/** Creates the client error, which only reveals whether a retry may help. */
function toUnavailable(service: string, label: string, cause: unknown): GatewayError {
  const headers = ['retry-after', '1']
  const reason = deniesCaller(cause)
    ? 'unavailable: auth denied access'
    : 'not available yet; try again'
  return new GatewayError(service, 503, `${label} ${reason}`, { cause, headers })
}

/** True if a remote platform denies access to its rules or keys. */
export function deniesCaller(cause: unknown): boolean {
  return cause instanceof GatewayError && cause.code < 500 && cause.code !== 408
}
