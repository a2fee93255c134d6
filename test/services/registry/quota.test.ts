import t from 'tap'
import { createQuota } from '../../../core/limits/quota.ts'
import {
  openPlatformRegistry,
  type PlatformRegistry,
  type Services,
  toRegistration,
} from '../../fixtures/platform-registry.ts'

/** A hundred nodes. */
const toNodes = (from: number, metadata = {}): object[] =>
  Array.from({ length: 100 }, (_, i) => ({
    id: `n${from + i}`,
    address: `127.0.0.1:${9001 + from + i}`,
    metadata,
  }))
const fill = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'x'.repeat(500)]))

/** Calls until one is refused; how many were not, and the error. */
async function fillUp(
  { call }: PlatformRegistry,
  toRequest: (i: number) => object,
): Promise<{ taken: number; error: Error }> {
  for (let taken = 0; ; taken++) {
    try {
      await call('Register', toRequest(taken))
    } catch (error) {
      return { taken, error: error as Error }
    }
  }
}

t.test('a version has at most 1000 nodes; those there are may be registered again', async (t) => {
  const registry = await openPlatformRegistry(t)
  const toRequest = (i: number): object => ({ name: 'greeter', nodes: toNodes(i * 100) })
  const { taken, error } = await fillUp(registry, toRequest)
  t.equal(taken, 10)
  t.match(error, {
    id: 'registry.Registry.Register',
    code: 429,
    message: 'greeter latest must have at most 1000 nodes, would have 1100',
  })
  const { call } = registry
  t.same(await call('Register', toRequest(3)), {}, 'a heartbeat')
  t.same(await call('Register', { name: 'greeter', nodes: toNodes(300, { zone: 'a' }) }), {})
  t.same(await call('Register', { ...toRequest(11), version: 'v2' }), {}, 'another version')
  t.same(await call('Deregister', toRequest(0)), {})
  t.same(await call('Register', toRequest(11)), {}, 'one that leaves makes room')
})

t.test(
  'registrations of nodes with long metadata do not make a list that cannot be told',
  async (t) => {
    const registry = await openPlatformRegistry(t)
    const toRequest = (i: number): object => ({
      name: 'greeter',
      nodes: toNodes(i * 100, fill(4)),
    })
    const { taken, error } = await fillUp(registry, toRequest)
    t.equal(taken, 4)
    t.match(error, {
      code: 429,
      message: /^greeter latest must be at most 1048576 bytes of JSON, would be 1\d{6}$/,
    })
    const { call } = registry
    t.same(await call('Register', toRequest(3)), {}, 'a heartbeat')
    for (const method of ['GetService', 'ListServices']) {
      const { services } = await call<Services>(method, { service: 'greeter' })
      t.equal(services[0]?.nodes.length, 400, method)
    }
  },
)

t.test('all versions of a service together fit into a reply', async (t) => {
  const registry = await openPlatformRegistry(t)
  const { taken, error } = await fillUp(registry, (i) => ({
    name: 'greeter',
    version: `v${i}`,
    nodes: toNodes(0, fill(4)),
  }))
  t.equal(taken, 39)
  t.match(error, {
    code: 429,
    message: /^all versions of greeter must be at most 8388608 bytes of JSON, would be 8\d{6}$/,
  })
  const { call } = registry
  const { services } = await call<Services>('GetService', { service: 'greeter' })
  t.equal(services.length, taken)
  t.same(await call('Register', toRegistration('other', ['a:1'])), {})
})

t.test('a namespace has as many nodes as its quota says', async (t) => {
  const quota = createQuota('quota_registrations', { limit: 2, namespaces: {} })
  const { call } = await openPlatformRegistry(t, { quota })
  const register = (name: string, domain: string) =>
    call('Register', { name, nodes: toNodes(0).slice(0, 2), options: { domain } })
  await register('greeter', 'acme')
  await register('greeter', 'acme')
  await register('greeter', 'mx')
  await register('other', 'mx')
  await t.rejects(register('other', 'acme'), {
    code: 429,
    message: /^quota_registrations of namespace acme is reached: 2 of 2 nodes in use; /,
  })
})

t.test('a namespace has at most 8 KiB for each node of its quota', async (t) => {
  const quota = createQuota('quota_registrations', { limit: 1200, namespaces: {} })
  const registry = await openPlatformRegistry(t, { quota })
  const toRequest = (i: number, domain = 'acme') => ({
    ...{ name: `s${i}`, nodes: toNodes(0).slice(0, 1), options: { domain } },
    endpoints: toNodes(0).map((_, k) => ({ name: `S.E${k}`, metadata: fill(4) })),
  })
  const { taken, error } = await fillUp(registry, toRequest)
  t.ok(taken > 40 && taken < 60, `${taken} were registered`)
  t.match(error, {
    code: 429,
    message: /^quota_registrations of namespace acme is reached: 9\d{6}b of 9600kb in use; /,
  })
  const { call } = registry
  t.same(await call('Register', toRequest(3)), {}, 'a heartbeat')
  t.same(await call('Register', toRequest(taken, 'mx')), {}, 'namespace mx has no quota')
  await call('Deregister', toRequest(0))
  t.same(await call('Register', toRequest(taken)), {}, 'one that leaves makes room')
})
