import type { Rule } from '../../contracts/auth.ts'

/** Evaluation order of rules: highest priority first, then DENIED before GRANTED, then by id. */
export function compareRules(a: Rule, b: Rule): number {
  if (a.priority !== b.priority) return b.priority - a.priority
  if (a.access !== b.access) return a.access === 'DENIED' ? -1 : 1
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}
