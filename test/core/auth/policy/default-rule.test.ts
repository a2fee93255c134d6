import t from 'tap'
import { DEFAULT_RULE } from '../../../../core/auth/policy/default-rule.ts'
import { Policy } from '../../../../core/auth/policy/policy.ts'

t.test('the default rule grants anonymous callers access to every resource', async (t) => {
  const policy = new Policy('acme', [DEFAULT_RULE])
  t.match(policy.caller(undefined).access('topic', 'orders', '/x'), {
    granted: true,
    rule: { id: 'default', scope: '', priority: 0 },
  })
})
