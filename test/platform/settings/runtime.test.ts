import t from 'tap'
import { parseNamespaceNames, parseUserIds } from '../../../platform/settings/runtime.ts'

t.test('names of namespaces', async (t) => {
  t.strictSame(parseNamespaceNames([' ta', 'acme.shop']), ['ta', 'acme.shop'])
  t.throws(() => parseNamespaceNames(['..']), { message: /must be names of namespaces, got ".."/ })
})

t.test('a range of user ids, or none', async (t) => {
  t.strictSame(parseUserIds('200000-209999'), { first: 200_000, last: 209_999 })
  t.strictSame(parseUserIds(' 1000 - 1000 '), { first: 1000, last: 1000 })
  t.equal(parseUserIds('none'), undefined)
  for (const text of ['', '0-10', '999-2000', '3000-2000', '1000-4294967295', '-1', 'a-b'])
    t.throws(() => parseUserIds(text), { message: /^must be a range of user ids/ }, text)
})
