import type { Resource, Rule } from '../../core/contracts/auth.ts'

/** What the rules say of a call, as `Rules.Test` tells it (docs/auth.md, Rules). */
export interface Tested {
  readonly granted: boolean
  /** None applies: it is denied. */
  readonly rule?: Rule
  /** Whose rules decide. */
  readonly namespace: string
  /** Why no call is judged by this endpoint. */
  readonly warning?: string
}

/** What was asked, and what the rules say of it. */
export interface Answered extends Tested {
  /** Id; empty: somebody without a token. */
  readonly account: string
  readonly endpoint: string
}

/** Whom a rule is for. */
export function describeScope(scope: string, namespace: string): string {
  if (scope === '') return 'everybody'
  if (scope === '*') return `all accounts of ${namespace}`
  if (scope === '+') return 'all accounts of any namespace'
  return scope
}

export function formatResource({ type, name, endpoint }: Resource): string {
  return `${type}:${name}:${endpoint}`
}

/** What a change of rules would cost, when the service asks for `force`; undefined: it does not. */
export function findConsequence(code: number, detail: string): string | undefined {
  return code === 409 ? (/^(.+); set request\.force/.exec(detail)?.[1] ?? detail) : undefined
}

/** Scopes as they were typed: separated by commas or blanks. */
export function parseScopes(typed: string): string[] {
  return [...new Set(typed.split(/[\s,]+/).filter((scope) => scope !== ''))]
}
