import t from 'tap'
import { GatewayError } from '../../core/errors.ts'
import { type CachedRoute, RouteCache } from '../../core/route-cache.ts'
import { makeUpstream } from '../fixtures/services.ts'

const upstream = makeUpstream([1])
const result: CachedRoute = { route: { service: 'greeter', endpoint: '' }, upstream, generation: 1 }
const error = new GatewayError('greeter', 404, 'service not found: greeter')

t.test('a route is cached for its generation', async (t) => {
  const cache = new RouteCache()
  cache.set('/greeter', result)
  t.equal(cache.get('/greeter', 1), result)
  t.equal(cache.get('/greeter', 2), undefined)
  t.equal(cache.get('/users', 1), undefined)
})

t.test('a failure is cached for its generation, for at most five seconds', async (t) => {
  let now = 1000
  const cache = new RouteCache({ nowMs: () => now })
  cache.setFailure('/greeter', error, 1)
  now = 5999
  t.equal(cache.getFailure('/greeter', 1), error)
  t.equal(cache.getFailure('/greeter', 2), undefined)
  now = 6001
  t.equal(cache.getFailure('/greeter', 1), undefined)
})

t.test('the cache is bounded at 11,000 entries and evicts the oldest', async (t) => {
  const cache = new RouteCache()
  for (let i = 0; i < 20_000; i++) {
    cache.set(`/service-${i}`, result)
    cache.setFailure(`/missing-${i}`, error, 1)
  }
  t.equal(cache.size, 11_000)
  t.equal(cache.get('/service-19999', 1), result)
  t.equal(cache.get('/service-0', 1), undefined)
})

t.test('cached failures do not evict routes', async (t) => {
  const cache = new RouteCache()
  cache.set('/greeter', result)
  for (let i = 0; i < 20_000; i++) cache.setFailure(`/missing-${i}`, error, 1)
  t.equal(cache.get('/greeter', 1), result)
})

t.test('keys over 256 characters are not cached', async (t) => {
  const cache = new RouteCache()
  const key = `/${'a'.repeat(256)}`
  cache.set(key, result)
  cache.setFailure(key, error, 1)
  t.equal(cache.size, 0)
  cache.set(key.slice(1), result)
  t.equal(cache.size, 1)
})
