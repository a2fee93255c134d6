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
import { ResilientWatch } from './token/resilient-watch.ts'
import { Sessions } from './token/sessions.ts'
import { TokenError } from './token/token-error.ts'

export interface AuthorizerOptions {
  /** Told when the source cannot be asked any more, and with undefined when it can be again. @default nobody */
  readonly onOutage?: (reason: Error | undefined) => void
  /** Told why a token is not taken, once of each of the last tokens. @default nobody */
  readonly onRefused?: (reason: string) => void
  /** Milliseconds a call waits for rules or keys that were never had. @default 5000 */
  readonly waitMs?: number
  /** Namespaces whose rules are kept; those asked for longest ago are given up. Those without rules of their own take nothing. @default 1000 */
  readonly maxNamespaces?: number
  /** Unix time. @default Date.now */
  readonly nowMs?: () => number
}

/** Refused tokens that are remembered, so that each is told once. */
const REFUSED_MAX = 1000
/** Characters that tell a token from others: its signature. */
const REFUSED_KEY = 86
/** Changes that come together are told together. */
const TELL_MS = 50
/** Rules that are given up are asked for again by what was let in by them, which may have others given up: not all the time. */
const GIVE_UP_MS = 1000
const NO_KEYS: ReadonlyMap<string, KeyObject> = new Map()
const GRANTED: Ruling = { granted: true, rule: undefined }
const BY_DEFAULT: Ruling = { granted: true, rule: DEFAULT_RULE }

/** Opens a gate: it keeps watching keys, and the rules of the namespaces that are asked for. */
export function createAuthorizer(source: AuthSource, options: AuthorizerOptions = {}): Authorizer {
  const { onOutage = () => {}, onRefused = () => {}, waitMs = 5000, nowMs = Date.now } = options
  const { maxNamespaces = 1000 } = options
  const listeners = new Set<() => void>()
  const refused = new LRUCache<string, true>({ max: REFUSED_MAX })
  const away = new Set<object>()
  let telling: NodeJS.Timeout | undefined
  let givingUp: NodeJS.Timeout | undefined
  let closed = false

  const tell = (): void => {
    telling = undefined
    for (const listener of [...listeners]) listener()
  }
  const changed = (): void => {
    if (!closed && listeners.size > 0) telling ??= setTimeout(tell, TELL_MS).unref()
  }
  const gaveUp = (): void => {
    if (!closed) givingUp ??= setTimeout(tellGivenUp, GIVE_UP_MS).unref()
  }
  const tellGivenUp = (): void => {
    givingUp = undefined
    changed()
  }
  const noteOutage = (watch: object, reason: Error | undefined): void => {
    // That watches end is not that they go on.
    if (closed) return
    const before = away.size
    if (reason === undefined) away.delete(watch)
    else away.add(watch)
    if (before === 0 && away.size > 0) onOutage(reason)
    if (before > 0 && away.size === 0) onOutage(undefined)
  }
  const keep = <T>(
    open: (signal: AbortSignal) => AsyncIterable<T>,
    onChange: (value: T, before: T) => void,
  ): ResilientWatch<T> => {
    const id = {}
    const onLost = (reason: Error | undefined): void => noteOutage(id, reason)
    return new ResilientWatch({ open, onChange, onOutage: onLost, waitMs })
  }

  const tokens = keep<TokenKnowledge>(source.watchTokens, (next, before) => {
    sessions.forget(isWithout(next.keys, before.keys))
    changed()
  })
  const sessions = new Sessions({
    keys: () => tokens.value?.keys ?? NO_KEYS,
    isRevoked: (session) => tokens.value!.isRevoked(session),
    nowMs,
  })
  const named = keep<ReadonlySet<string>>(source.watchNamespaces, (next, before) => {
    if (next.size !== before.size || ![...next].every((name) => before.has(name))) changed()
  })
  const namespaces = new LRUCache<string, ResilientWatch<Policy>>({
    max: maxNamespaces,
    dispose(watch) {
      watch.close()
      // What changes there from now on is not heard of: whoever was let in is judged again, which begins to watch again.
      gaveUp()
    },
  })
  const watchNamespace = (namespace: string): ResilientWatch<Policy> => {
    const watch = keep(
      (signal) => toBooks(namespace, source.watchRules(namespace, signal)),
      changed,
    )
    namespaces.set(namespace, watch)
    return watch
  }
  const judge = (access: Access): Maybe<Ruling> => {
    const { namespace } = access
    let watch = namespaces.get(namespace)
    if (watch === undefined && namespace !== DEFAULT_DOMAIN) {
      const names = named.value
      if (names === undefined) return judgeNamed(access)
      if (!names.has(namespace)) return BY_DEFAULT
    }
    watch ??= watchNamespace(namespace)
    const book = watch.value
    return book === undefined ? judgeLater(watch, access) : rule(book, access)
  }
  const judgeNamed = async (access: Access): Promise<Ruling> =>
    (await learn(named, access)) === undefined ? GRANTED : judge(access)
  const judgeLater = async (watch: ResilientWatch<Policy>, access: Access): Promise<Ruling> => {
    const book = await learn(watch, access)
    return book === undefined ? GRANTED : rule(book, access)
  }
  const verify = (token: string): Maybe<Session> => {
    if (tokens.value === undefined) return verifyLater(token)
    try {
      const session = sessions.verify(token)
      return session instanceof Promise ? session.catch((error) => refuse(token, error)) : session
    } catch (error) {
      return refuse(token, error)
    }
  }
  const verifyLater = async (token: string): Promise<Session> => {
    await tokens.first().catch((cause: unknown) => {
      throw toUnknown('auth', 'the keys of access tokens', cause)
    })
    return verify(token)
  }
  const refuse = (token: string, error: unknown): never => {
    const key = token.slice(-REFUSED_KEY)
    if (error instanceof TokenError && !refused.has(key)) {
      refused.set(key, true)
      onRefused(error.message)
    }
    throw error
  }

  return {
    identify: (token) => sessions.recall(token) ?? verify(token),

    judge,

    onChange(listener) {
      // Of its own: the same function may be given twice.
      const own = (): void => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },

    close() {
      closed = true
      clearTimeout(telling)
      clearTimeout(givingUp)
      listeners.clear()
      tokens.close()
      named.close()
      namespaces.clear()
    },
  }
}

async function* toBooks(
  namespace: string,
  versions: AsyncIterable<ConstructorParameters<typeof Policy>[1]>,
): AsyncGenerator<Policy, void, undefined> {
  for await (const rules of versions) yield new Policy(namespace, rules)
}

function rule(book: Policy, { account, resource }: Access): Ruling {
  const { type, name, endpoint } = resource
  const caller = book.caller(account)
  const ruling =
    type === 'service' ? caller.call(name, endpoint) : caller.access(type, name, endpoint)
  if (ruling.granted || account === undefined) return ruling
  const missingScope = book.findMissingScope(account, resource)
  return missingScope === undefined ? ruling : { ...ruling, missingScope }
}

/** What a watch tells first; undefined: it cannot be had, and is not needed for logging in. */
function learn<T>(watch: ResilientWatch<T>, { resource }: Access): Promise<T | undefined> {
  return watch.first().catch((cause: unknown) => {
    if (isLoginEndpoint(resource)) return undefined
    throw toUnknown(resource.name, 'the rules of access', cause)
  })
}

/** Whether a key of before is not among those of now. */
function isWithout(
  now: ReadonlyMap<string, KeyObject>,
  before: ReadonlyMap<string, KeyObject>,
): boolean {
  for (const [id, key] of before) if (now.get(id)?.equals(key) !== true) return true
  return false
}

/** What strangers are told: whether asking again may help, and no more. */
function toUnknown(service: string, what: string, cause: unknown): GatewayError {
  const headers = ['retry-after', '1']
  const why = deniesCaller(cause) ? 'known: auth refuses access' : 'known yet, try again'
  return new GatewayError(service, 503, `${what} are not ${why}`, { cause, headers })
}

/** Whether a platform elsewhere does not let in who asked it for rules or keys. */
export function deniesCaller(cause: unknown): boolean {
  return cause instanceof GatewayError && cause.code < 500 && cause.code !== 408
}
