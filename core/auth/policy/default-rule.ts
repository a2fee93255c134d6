import type { Rule } from '../../contracts/auth.ts'

/** Rule that allows every call (specification: Rule), the only rule of a namespace by default. */
export const DEFAULT_RULE: Rule = {
  id: 'default',
  scope: '',
  access: 'GRANTED',
  resource: { type: '*', name: '*', endpoint: '*' },
  priority: 0,
}
