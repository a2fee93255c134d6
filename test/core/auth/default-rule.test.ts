import t from 'tap'
import { DEFAULT_RULE } from '../../../core/auth/default-rule.ts'
import { RuleBook } from '../../../core/auth/rule-book.ts'

t.test('by the default rule everybody may call everything', async (t) => {
  const book = new RuleBook('acme', [DEFAULT_RULE])
  t.match(book.caller(undefined).access('topic', 'orders', '/x'), {
    granted: true,
    rule: { id: 'default', scope: '', priority: 0 },
  })
})
