import type { Rule } from '../../contracts/auth.ts'

/** Allows every call (specification: Rule): the only rule of a namespace without changes. */
export const DEFAULT_RULE: Rule = {
  id: 'default',
  scope: '',
  access: 'GRANTED',
  resource: { type: '*', name: '*', endpoint: '*' },
  priority: 0,
}
