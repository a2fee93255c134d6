import type { Resource, Rule } from '../../core/contracts/auth.ts'

/** Response of `Rules.Test` (docs/auth.md, Rules). */
export interface RuleTest {
  readonly granted: boolean
  /** Matching rule; undefined if no rule matches, so that the call is denied. */
  readonly rule?: Rule
  /** Namespace of the evaluated rules. */
  readonly namespace: string
  /** Reason why access rules do not apply to this endpoint. */
  readonly warning?: string
}

export interface AccessResult extends RuleTest {
  /** Account id; empty for anonymous. */
  readonly account: string
  readonly endpoint: string
}

/** Describes the callers that a rule applies to. */
export function describeScope(scope: string, namespace: string): string {
  if (scope === '') return 'everyone'
  if (scope === '*') return `all accounts of ${namespace}`
  if (scope === '+') return 'all accounts of any namespace'
  return scope
}

export function formatResource({ type, name, endpoint }: Resource): string {
  return `${type}:${name}:${endpoint}`
}

/**
 * Consequence of a rule change that the service rejects without `force`; undefined for other
 * errors.
 */
export function findConsequence(code: number, detail: string): string | undefined {
  return code === 409 ? (/^(.+); set request\.force/.exec(detail)?.[1] ?? detail) : undefined
}

/** Parses scopes separated by commas or spaces. */
export function parseScopes(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((scope) => scope !== ''))]
}
