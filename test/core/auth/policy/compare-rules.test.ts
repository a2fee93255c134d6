import t from 'tap'
import { compareRules } from '../../../../core/auth/policy/compare-rules.ts'
import type { Rule } from '../../../../core/contracts/auth.ts'

const rule = (id: string, priority: number, access: Rule['access']): Rule => ({
  ...{ id, priority, access, scope: '' },
  resource: { type: '*', name: '*', endpoint: '*' },
})

t.test('rules are ordered by priority, then denying rules first, then by id', (t) => {
  const rules = [
    rule('d', -1, 'DENIED'),
    rule('c', 0, 'GRANTED'),
    rule('b', 0, 'GRANTED'),
    rule('z', 0, 'DENIED'),
    rule('e', 5, 'GRANTED'),
  ]
  t.strictSame(
    rules.sort(compareRules).map(({ id }) => id),
    ['e', 'z', 'b', 'c', 'd'],
  )
  t.equal(compareRules(rules[0]!, rules[0]!), 0)
  t.end()
})
