import t from 'tap'
import { createQuota } from '../../../core/limits/quota.ts'
import {
  openPlatformRegistry,
  type PlatformRegistry,
  type Services,
  toRegistration,
} from '../../fixtures/platform-registry.ts'

/** Creates a hundred nodes. */
const toNodes = (from: number, metadata = {}): object[] =>
  Array.from({ length: 100 }, (_, i) => ({
    id: `n${from + i}`,
    address: `127.0.0.1:${9001 + from + i}`,
    metadata,
  }))
const fill = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'x'.repeat(500)]))

/** Registers until a call is rejected; returns the number of accepted calls and the error. */
async function fillUp(
  { call }: PlatformRegistry,
  toRequest: (i: number) => object,
): Promise<{ accepted: number; error: Error }> {
  for (let accepted = 0; ; accepted++) {
    try {
      await call('Register', toRequest(accepted))
    } catch (error) {
      return { accepted, error: error as Error }
    }
  }
}

t.test(
  'rejects a node beyond 1000 of a version with 429, and renewals of existing ones succeed',
  async (t) => {
    const registry = await openPlatformRegistry(t)
    const toRequest = (i: number): object => ({ name: 'greeter', nodes: toNodes(i * 100) })
    const { accepted, error } = await fillUp(registry, toRequest)
    t.equal(accepted, 10)
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
    t.same(await call('Register', toRequest(11)), {}, 'a deregistration frees capacity')
  },
)

t.test(
  'rejects a version beyond 1 MiB of node metadata with 429, so that lists of it can be read',
  async (t) => {
    const registry = await openPlatformRegistry(t)
    const toRequest = (i: number): object => ({
      name: 'greeter',
      nodes: toNodes(i * 100, fill(4)),
    })
    const { accepted, error } = await fillUp(registry, toRequest)
    t.equal(accepted, 4)
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

t.test('rejects versions of a service beyond 8 MiB in total with 429', async (t) => {
  const registry = await openPlatformRegistry(t)
  const { accepted, error } = await fillUp(registry, (i) => ({
    name: 'greeter',
    version: `v${i}`,
    nodes: toNodes(0, fill(4)),
  }))
  t.equal(accepted, 39)
  t.match(error, {
    code: 429,
    message: /^all versions of greeter must be at most 8388608 bytes of JSON, would be 8\d{6}$/,
  })
  const { call } = registry
  const { services } = await call<Services>('GetService', { service: 'greeter' })
  t.equal(services.length, accepted)
  t.same(await call('Register', toRegistration('other', ['a:1'])), {})
})

t.test('rejects a node beyond quota_registrations of its namespace with 429', async (t) => {
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
    message: /^quota_registrations reached in namespace acme: 2 of 2 nodes in use; /,
  })
})

t.test(
  "rejects registrations beyond 8 KiB per node of the namespace's quota with 429",
  async (t) => {
    const quota = createQuota('quota_registrations', { limit: 1200, namespaces: {} })
    const registry = await openPlatformRegistry(t, { quota })
    const toRequest = (i: number, domain = 'acme') => ({
      ...{ name: `s${i}`, nodes: toNodes(0).slice(0, 1), options: { domain } },
      endpoints: toNodes(0).map((_, k) => ({ name: `S.E${k}`, metadata: fill(4) })),
    })
    const { accepted, error } = await fillUp(registry, toRequest)
    t.ok(accepted > 40 && accepted < 60, `${accepted} were registered`)
    t.match(error, {
      code: 429,
      message: /^quota_registrations reached in namespace acme: 9\d{6}b of 9600kb in use; /,
    })
    const { call } = registry
    t.same(await call('Register', toRequest(3)), {}, 'a heartbeat')
    t.same(await call('Register', toRequest(accepted, 'mx')), {}, 'namespace mx has no quota')
    await call('Deregister', toRequest(0))
    t.same(await call('Register', toRequest(accepted)), {}, 'a deregistration frees capacity')
  },
)
