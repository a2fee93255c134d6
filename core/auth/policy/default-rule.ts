import type { Rule } from '../../contracts/auth.ts'

/** Everybody may call everything (specification: Rule): the only rule of a namespace whose rules nobody has changed yet. */
export const DEFAULT_RULE: Rule = {
  id: 'default',
  scope: '',
  access: 'GRANTED',
  resource: { type: '*', name: '*', endpoint: '*' },
  priority: 0,
}
