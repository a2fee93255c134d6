import t from 'tap'
import { NAMESPACE_NAMES } from '../../../../platform/settings/parse/names.ts'
import { USER_IDS } from '../../../../platform/settings/parse/user-ids.ts'

t.test('parses names of namespaces', async (t) => {
  t.strictSame(NAMESPACE_NAMES.parse([' ta', 'acme.shop']), ['ta', 'acme.shop'])
  t.throws(() => NAMESPACE_NAMES.parse(['..']), {
    message: /must be names of namespaces, got ".."/,
  })
})

t.test('parses a range of user ids, or none', async (t) => {
  t.strictSame(USER_IDS.parse(['200000-209999']), { first: 200_000, last: 209_999 })
  t.strictSame(USER_IDS.parse([' 1000 - 1000 ']), { first: 1000, last: 1000 })
  t.equal(USER_IDS.parse(['none']), undefined)
  for (const text of ['', '0-10', '999-2000', '3000-2000', '1000-4294967295', '-1', 'a-b'])
    t.throws(() => USER_IDS.parse([text]), { message: /^must be a range of user ids/ }, text)
})
