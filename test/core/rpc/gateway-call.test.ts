import t from 'tap'
import { toRoute } from '../../../core/route.ts'
import rpc from '../../../handlers/rpc.ts'
import { createTestExchange } from '../../../sdk/testing.ts'
import { makeUpstream } from '../../fixtures/services.ts'

t.test('a call without an endpoint returns 404 before a node is chosen', async (t) => {
  const x = createTestExchange({ path: '/shop' })
  x.route = toRoute('shop', '')
  x.upstream = makeUpstream([1])
  t.throws(() => rpc({ timeoutMs: 1000 }).handle(x), {
    code: 404,
    message: 'the route to shop has no endpoint to call',
  })
  t.equal(x.node, '')
})
