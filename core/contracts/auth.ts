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
}
