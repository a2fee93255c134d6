import type { KeyObject } from 'node:crypto'

/** Who calls (specification: Account). */
export interface Account {
  readonly id: string
  readonly name: string
  readonly type: 'user' | 'service'
  /** Namespace it belongs to. */
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
}

/** What is called, or, in a rule, which of them; letter case does not matter. */
export interface Resource {
  /** `service` for all that is called by name. */
  readonly type: string
  readonly name: string
  /** `Handler.Method`, or the path of a plain HTTP request. */
  readonly endpoint: string
}

/** Lets callers call resources, or keeps them from it (specification: Rule). */
export interface Rule {
  /** Unique in its namespace. */
  readonly id: string
  /** Empty: everybody. `*`: every account of the namespace. `+`: every account. Else what an account of the namespace must list. */
  readonly scope: string
  readonly access: 'GRANTED' | 'DENIED'
  /** `*` in any part: all. An endpoint may end in `/*` or `.*`: all that begin alike. */
  readonly resource: Resource
  /** Higher ones are asked first. */
  readonly priority: number
}

/** What the rules say of a call. */
export interface Ruling {
  readonly granted: boolean
  /** The rule that decided; undefined: none applied, which denies. */
  readonly rule: Rule | undefined
  /** Of a denied call: the scope with which the same account would be granted it; undefined: the caller is anonymous, or no scope helps. */
  readonly missingScope?: string
}

/** Whom a token stands for, and how long. */
export interface Session {
  readonly account: Account
  /** Of the token, unique. */
  readonly id: string
  /** Unix time. */
  readonly issuedMs: number
  /** Unix time from which on it is no longer taken: its end, and what clocks may differ by. */
  readonly endsMs: number
}

/** What tokens are judged by, one version of it. */
export interface TokenKnowledge {
  /** Public keys that sign now, and those that lately did, by their ids. */
  readonly keys: ReadonlyMap<string, KeyObject>
  /** Whether a genuine token is good for nothing any more. */
  readonly isRevoked: (session: Session) => boolean
}

/** Where whoever enforces rules gets them from: the service `auth`, in this process or far away. */
export interface AuthSource {
  /** All rules of a namespace, at once and after each change. Throws when they cannot be had, or no longer; ends by `signal` only. */
  readonly watchRules: (namespace: string, signal: AbortSignal) => AsyncIterable<readonly Rule[]>
  /** As {@link watchRules}, names of all namespaces that have rules of their own: in others everybody may do everything. */
  readonly watchNamespaces: (signal: AbortSignal) => AsyncIterable<ReadonlySet<string>>
  /** As {@link watchRules}, what tokens are judged by. */
  readonly watchTokens: (signal: AbortSignal) => AsyncIterable<TokenKnowledge>
}

/** A call somebody wants to make. */
export interface Access {
  /** Whose rules decide. */
  readonly namespace: string
  /** Undefined: nobody that is known. */
  readonly account: Account | undefined
  readonly resource: Resource
}

/** Decides who is let through: what gateway, RPC proxy and services ask. It keeps watching what its {@link AuthSource} knows. */
export interface Authorizer {
  /**
   * Who shows this token; at once where it was seen before.
   *
   * @throws {TokenError} when it is not taken, also by rejecting.
   * @throws {GatewayError} 503 by rejecting: keys have never been had.
   */
  readonly identify: (token: string) => Session | Promise<Session>
  /**
   * What the rules say; at once where those of the namespace are known. The last ones that were had stay in force while their source is away.
   *
   * @throws {GatewayError} 503 by rejecting: the rules of the namespace have never been had. Logging in is granted nonetheless.
   */
  readonly judge: (access: Access) => Ruling | Promise<Ruling>
  /** Calls `listener` after every change that may end what was granted: of rules, keys or revocations. Returns what ends that. */
  readonly onChange: (listener: () => void) => () => void
  readonly close: () => void
}
