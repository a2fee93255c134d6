import t from 'tap'
import { toRoute } from '../../../../core/route.ts'
import { Upstream } from '../../../../core/upstream/upstream.ts'
import { toTarget } from '../../../../plugins/access/auth/target.ts'
import { createTestExchange } from '../../../../sdk/testing.ts'

t.test('returns an endpoint, a path or an event as target', async (t) => {
  const createPool = () => {
    throw new Error('not called')
  }
  const x = createTestExchange({ path: '/app//a', headers: { 'mx-namespace': 'acme' } })
  x.route = toRoute('app', '')
  x.upstream = new Upstream('app', { createPool, domain: 'acme' })
  const resource = { type: 'service', name: 'app', endpoint: '/app/a' }
  t.same(toTarget(x), { namespace: 'acme', domain: 'acme', resource })
  x.route = toRoute('app', 'App.Call')
  t.same(toTarget(x).resource, { type: 'service', name: 'app', endpoint: 'App.Call' })
  x.proxied = true
  t.equal(toTarget(x).resource.endpoint, '/app/a', 'the path of a proxied request')
  x.proxied = false
  x.upstream = undefined
  t.same(toTarget(x), {
    namespace: 'acme',
    domain: 'mx',
    resource: { type: 'topic', name: 'app', endpoint: 'App.Call' },
  })
})
