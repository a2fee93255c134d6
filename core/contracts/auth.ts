import type { KeyObject } from 'node:crypto'
import type { RequestQuotas } from './request-quotas.ts'

/** Identity of a caller (specification: Account). */
export interface Account {
  readonly id: string
  readonly name: string
  readonly type: 'user' | 'service'
  /** Namespace of the account. */
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
  /** Id of the API key that authenticated the caller. Absent for other credentials. */
  readonly apiKey?: string
}

/** Maximum number of requests with an API key per UTC day and month; absent if unlimited. */
export interface ApiKeyLimits {
  readonly day?: number
  readonly month?: number
}

/** Target of a call, or the pattern in a rule; case-insensitive. */
export interface Resource {
  /** `service` for everything that is called by name. */
  readonly type: string
  readonly name: string
  /** `Handler.Method`, or the path of a plain HTTP request. */
  readonly endpoint: string
}

/** Grants or denies callers access to resources (specification: Rule). */
export interface Rule {
  /** Unique in its namespace. */
  readonly id: string
  /**
   * Empty: everyone. `*`: every account of the namespace. `+`: every account. Otherwise the scope that an account of
   * the namespace needs.
   */
  readonly scope: string
  readonly access: 'GRANTED' | 'DENIED'
  /** `*` in any part matches all. An endpoint may end in `/*` or `.*` to match a prefix. */
  readonly resource: Resource
  /** Higher priorities are evaluated first. */
  readonly priority: number
}

/** Decision of the rules on a call. */
export interface Ruling {
  readonly granted: boolean
  /** The decisive rule; undefined if no rule matched, which denies the call. */
  readonly rule: Rule | undefined
  /** Scope that would grant the account a denied call; undefined if the caller is anonymous or no scope helps. */
  readonly missingScope?: string
}

/** Account and lifetime of a token or an API key. */
export interface Session {
  readonly account: Account
  /** Unique id of the token. For an API key, `<key id>.<version of the key>`. */
  readonly id: string
  /** Unix time. */
  readonly issuedMs: number
  /** Unix time from which it is rejected: its expiry plus the clock skew. */
  readonly endsMs: number
  /** Limits of the API key. @default none */
  readonly limits?: ApiKeyLimits
}

/** An API key as presented to the `auth` service, without the secret. */
export interface PresentedApiKey {
  readonly id: string
  /** SHA-256 of the key in base64url. */
  readonly hash: string
}

/** A snapshot of the data for verifying tokens. */
export interface TokenKnowledge {
  /** Public keys by id: the current and the recently replaced ones. */
  readonly keys: ReadonlyMap<string, KeyObject>
  /** Whether a valid token is revoked. */
  readonly isRevoked: (session: Session) => boolean
}

/** Source of rules, keys and API keys for authorizers: the `auth` service, local or remote. */
export interface AuthSource {
  /**
   * Yields all rules of a namespace, initially and after each change. Throws if the source is unavailable; ends only by
   * `signal`.
   */
  readonly watchRules: (namespace: string, signal: AbortSignal) => AsyncIterable<readonly Rule[]>
  /** Like {@link watchRules}, but yields the names of all namespaces with rules; other namespaces are unrestricted. */
  readonly watchNamespaces: (signal: AbortSignal) => AsyncIterable<ReadonlySet<string>>
  /** Like {@link watchRules}, but yields the data for verifying tokens. */
  readonly watchTokens: (signal: AbortSignal) => AsyncIterable<TokenKnowledge>
  /**
   * Verifies an API key. Resolves with undefined if the key is unknown, expired or deleted, and rejects if the source is
   * unavailable. @default every API key is unknown
   */
  readonly verifyApiKey?: (key: PresentedApiKey) => Promise<Session | undefined>
  /** Counts of requests of the `auth` service. @default none */
  readonly requestQuotas?: RequestQuotas
}

/** A call to authorize. */
export interface Access {
  /** Namespace whose rules apply. */
  readonly namespace: string
  /** Undefined if anonymous. */
  readonly account: Account | undefined
  readonly resource: Resource
}

/**
 * Authenticates tokens and authorizes calls for the gateway, the RPC proxy and services. Watches an {@link AuthSource}.
 */
export interface Authorizer {
  /**
   * Verifies an access token or an API key; synchronous if it is cached.
   *
   * @throws {TokenError} for an invalid token or API key, synchronously or by rejecting.
   * @throws {GatewayError} 503 by rejecting, if no keys have been loaded yet, or an API key cannot be verified.
   */
  readonly identify: (token: string) => Session | Promise<Session>
  /**
   * Evaluates the rules; synchronous if the rules of the namespace are loaded. While the source is unavailable, the
   * last known rules apply.
   *
   * @throws {GatewayError} 503 by rejecting, if the rules of the namespace have not been loaded yet. Logins are granted
   * nonetheless.
   */
  readonly decide: (access: Access) => Ruling | Promise<Ruling>
  /**
   * Calls `listener` after every change of rules, keys or revocations, which may revoke access. Returns a function that
   * unsubscribes it.
   */
  readonly onChange: (listener: () => void) => () => void
  /** Counts of requests, stored by the source of the rules. @default none */
  readonly requestQuotas?: RequestQuotas
  readonly close: () => void
}
