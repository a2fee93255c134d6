import t from 'tap'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import { createClientSets } from '../../../../platform/gateway/routes/client-sets.ts'

t.test('equal lists of networks share a set, in any order', async (t) => {
  const { routes } = parseConfig(
    'routes: [{ match: { client: [10.0.0.0/8, loopback] }, respond: {} }, { respond: {} }]',
    'mx.yaml',
  )
  const toSet = createClientSets(routes)
  const set = toSet(['10.0.0.0/8', 'loopback'])
  t.equal(toSet(['loopback', '10.0.0.0/8']), set)
  t.not(toSet(['loopback']), set)
  t.strictSame(
    ['10.1.1.1', '127.0.0.1', '192.0.2.1'].map((address) => set.lookup(address).inside),
    [true, true, false],
  )
  t.throws(() => toSet(['10.0.0.0/33']), /client must be address ranges/)
})
