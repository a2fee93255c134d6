import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import {
  type ConsulRegistryOptions,
  createConsulRegistry,
} from '../../../adapters/registry/consul.ts'
import type { Registry, RegistryEvent, Service } from '../../../core/contracts/registry.ts'
import { type RegistrySubject, testRegistry, until } from '../../contracts/registry.ts'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { type ConsulAgent, startConsul } from '../../fixtures/consul.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'

/** One that is asked often, so that tests do not wait. */
function open(t: Test, agent: ConsulAgent, options: ConsulRegistryOptions = {}): Registry {
  const registry = createConsulRegistry({
    host: agent.host,
    port: agent.port,
    ...(agent.token !== undefined && { token: agent.token }),
    ...options,
    pace: { gapMs: 10, retryMs: 20, maxRetryMs: 100, deniedMs: 100, ...options.pace },
  })
  t.teardown(() => registry.close?.())
  return registry
}

/** Waits until the registry tells these nodes of a service. */
async function untilNodes(registry: Registry, name: string, ids: readonly string[]): Promise<void> {
  await until(async () => {
    const services = await registry.getService(name)
    return isDeepStrictEqual(
      services.flatMap(({ nodes }) => nodes.map(({ id }) => id)),
      ids,
    )
  })
}

const GREETER = makeService('go.mx.api.greeter', ['127.0.0.1:9001'])
const ID = 'go.mx.api.greeter:127.0.0.1:9001'
const agent = await startConsul(t)

if (agent !== undefined) {
  await t.test('one agent', (t) => {
    testContract(t, agent)
    testEntries(t, agent)
    testPlain(t, agent)
    t.end()
  })
  await t.test('agents that fail', (t) => {
    testOutages(t)
    testAccess(t)
    t.end()
  })
}

interface StoredService {
  readonly ID: string
  readonly Tags: readonly string[]
  readonly Meta: Readonly<Record<string, string>>
  readonly Weights: { readonly Passing: number }
}

interface HealthRow {
  readonly Service: StoredService & { readonly ModifyIndex: number }
  readonly Checks: readonly { readonly CheckID: string; readonly Type: string }[]
}

async function readHealthRows(agent: ConsulAgent, name: string): Promise<readonly HealthRow[]> {
  return (await agent.call('GET', `/health/service/${name}?passing`)) as HealthRow[]
}

function testEntries(t: Test, agent: ConsulAgent): void {
  t.test('a registration is readable for any user of Consul', async (t) => {
    const registry = open(t, agent)
    const nothing = { name: '', type: '', values: [] }
    const value = { name: 'Req', type: 'Req', values: [{ name: 'id', type: 'int64', values: [] }] }
    const service: Service = {
      name: 'orders',
      version: 'next',
      metadata: { owner: 'shop' },
      endpoints: [
        {
          name: 'Orders.Get',
          request: value,
          response: nothing,
          metadata: { path: '/orders/{id}', method: 'GET' },
        },
      ],
      nodes: [
        {
          id: 'orders-1',
          address: '[::1]:7000',
          metadata: {
            protocol: 'mx',
            weight: '3',
            'a.b': 'no key of Meta',
            long: 'x'.repeat(513),
            ['mx-version']: 'mine',
          },
        },
      ],
    }
    await registry.register?.(service, { ttlSeconds: 30 })
    await untilNodes(registry, 'orders', ['orders-1'])
    const [row] = await readHealthRows(agent, 'orders')
    t.equal(row?.Service.ID, 'orders-1')
    t.same(row?.Service.Weights.Passing, 3)
    t.same(row?.Service.Meta, {
      'mx-version': 'next',
      'mx-domain': 'mx',
      protocol: 'mx',
      weight: '3',
    })
    t.match(row?.Service.Tags.slice(0, 2), ['mx', 'mx.version=next'])
    const [, , endpoint = '', metadata] = row?.Service.Tags ?? []
    t.match(JSON.parse(endpoint.slice('mx.endpoint='.length)), {
      name: 'Orders.Get',
      version: 'next',
      metadata: { path: '/orders/{id}' },
    })
    t.equal(metadata, 'mx.metadata={"version":"next","values":{"owner":"shop"}}')
    t.match(row?.Checks, [{}, { CheckID: 'service:orders-1', Type: 'ttl' }])
    t.same(await registry.getService('orders'), [service], 'and reads as it was')
    t.same(await registry.listServices(), [{ ...service, nodes: [] }])
    await registry.deregister?.(service)
  })

  t.test('a heartbeat passes the check and writes nothing else', async (t) => {
    const registry = open(t, agent)
    await registry.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    const [before] = await readHealthRows(agent, GREETER.name)
    await agent.call('PUT', `/agent/check/fail/service:${ID}`)
    await untilNodes(registry, GREETER.name, [])
    await registry.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    const [after] = await readHealthRows(agent, GREETER.name)
    t.equal(after?.Service.ModifyIndex, before?.Service.ModifyIndex, 'the same registration')
    const heavier = makeService(GREETER.name, [makeNode('127.0.0.1:9001', { weight: '2' })])
    await registry.register?.(heavier, { ttlSeconds: 90 })
    await until(async () => isDeepStrictEqual(await registry.getService(GREETER.name), [heavier]))
    await registry.deregister?.(GREETER)
  })

  t.test('a registration the agent lost is made again by the next heartbeat', async (t) => {
    const registry = open(t, agent)
    for (const ttlSeconds of [90, 0]) {
      await registry.register?.(GREETER, { ttlSeconds })
      await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
      await agent.call('PUT', `/agent/service/deregister/${ID}`)
      await untilNodes(registry, GREETER.name, [])
      await registry.register?.(GREETER, { ttlSeconds })
      await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
      await registry.deregister?.(GREETER)
      await untilNodes(registry, GREETER.name, [])
    }
  })

  t.test('a node without heartbeat is out after its TTL', async (t) => {
    const registry = open(t, agent)
    const events: string[] = []
    registry.watch?.(({ type }) => events.push(type), { service: GREETER.name })
    await registry.register?.(GREETER, { ttlSeconds: 1 })
    await until(() => events.length === 2)
    t.same(events, ['create', 'delete'])
    await registry.deregister?.(GREETER)
  })

  t.test('a draining node is in maintenance: out for every reader of what passes', async (t) => {
    const registry = open(t, agent)
    const draining = makeService(GREETER.name, [makeNode('127.0.0.1:9001', { state: 'draining' })])
    await registry.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    await registry.register?.(draining, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, [])
    await registry.register?.(draining, { ttlSeconds: 90 })
    t.match(await agent.call('GET', '/agent/checks'), {
      [`_service_maintenance:${ID}`]: { Status: 'critical', Notes: 'mx: draining' },
    })
    const restarted = open(t, agent)
    await restarted.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    await restarted.deregister?.(GREETER)
    await untilNodes(registry, GREETER.name, [])
  })

  t.test('domains do not see each other', async (t) => {
    const registries = [open(t, agent), open(t, agent, { domain: 'shop' })]
    const services = ['127.0.0.1:9001', '127.0.0.1:9002'].map((address) =>
      makeService('cart', [address]),
    )
    for (const [i, registry] of registries.entries())
      await registry.register?.(services[i]!, { ttlSeconds: 90 })
    await untilNodes(registries[0]!, 'cart', ['127.0.0.1:9001'])
    await untilNodes(registries[1]!, 'cart', ['127.0.0.1:9002'])
    await registries[0]!.deregister?.(services[0]!)
    await untilNodes(registries[0]!, 'cart', [])
    await until(async () => (await registries[0]!.listServices()).length === 0)
    t.equal((await registries[1]!.listServices()).length, 1)
    await registries[1]!.deregister?.(services[1]!)
  })

  t.test('what Consul could not keep is refused with its reason', async (t) => {
    const registry = open(t, agent)
    const register = async (service: Service): Promise<void> => registry.register?.(service)
    await t.rejects(register(makeService('a', [{ ...makeNode('a:1'), id: 'a/b' }])), {
      name: 'TypeError',
      message: /node id must be letters.*got "a\/b"/,
    })
    const big = { ...GREETER, metadata: { text: 'x'.repeat(300_000) } }
    await t.rejects(register(big), { name: 'TypeError', message: /must fit into 262144 bytes/ })
    t.throws(() => createConsulRegistry({ domain: '../x' }), /domain must be/)
  })
}

function testPlain(t: Test, agent: ConsulAgent): void {
  const put = (entry: object): Promise<unknown> =>
    agent.call('PUT', '/agent/service/register', entry)
  const remove = (id: string): Promise<unknown> =>
    agent.call('PUT', `/agent/service/deregister/${id}`)

  t.test('plain services of Consul are there, with address, weight, tags and routes', async (t) => {
    const warnings: string[] = []
    const registry = open(t, agent, { onWarning: (message) => warnings.push(message) })
    await put({ Name: 'web', Port: 8080, Meta: { zone: 'a', protocol: 'grpc' } })
    await put({
      Name: 'shop',
      ID: 'shop-1',
      Address: '10.0.0.7',
      Port: 8443,
      Weights: { Passing: 10, Warning: 1 },
      Tags: [
        'blue',
        'mx.protocol=https',
        'mx.path=/orders/*',
        'mx.path=/cart',
        'mx.host=a.example',
      ],
    })
    await put({ Name: 'no name/at all', ID: 'odd', Port: 1 })
    await untilNodes(registry, 'shop', ['shop-1@test'])
    await untilNodes(registry, 'web', ['web@test'])
    const [web] = await registry.getService('web')
    t.same(web?.nodes, [{ id: 'web@test', address: '127.0.0.1:8080', metadata: { zone: 'a' } }])
    const [shop] = await registry.getService('shop')
    t.same(shop?.nodes[0]?.metadata, { protocol: 'https', weight: '10', tags: 'blue' })
    t.equal(shop?.nodes[0]?.address, '10.0.0.7:8443')
    const metadata = { handler: 'proxy', path: '/orders/*,/cart', host: 'a.example' }
    t.match(shop?.endpoints, [{ name: 'Http.Any', metadata }])
    const listed = await registry.listServices()
    t.same(listed.map(({ name }) => name).sort(), ['shop', 'web'])
    t.match(
      listed.find(({ name }) => name === 'shop'),
      { endpoints: [{ metadata }] },
    )
    await registry.listServices()
    t.equal(warnings.length, 1)
    t.match(warnings[0], /service "no name\/at all" is left out: service name must be/)
    for (const id of ['web', 'shop-1', 'odd']) await remove(id)
  })

  t.test('hostile entries are left out with a reason, and harm nobody', async (t) => {
    const warnings: string[] = []
    const registry = open(t, agent, { onWarning: (message) => warnings.push(message) })
    const bad = [
      { ID: 'a', Address: 'not an address', Port: 1 },
      { ID: 'b', Address: '10.0.0.256', Port: 1 },
      { ID: 'c', Address: '127.0.0.1' },
      { ID: 'd', Address: '127.0.0.1', Port: 1, Tags: ['mx', 'mx.version=a b'] },
    ]
    for (const entry of bad) await put({ Name: 'evil', ...entry })
    await put({
      Name: 'evil',
      ID: 'evil-ok',
      Port: 9,
      Meta: { ['__proto__']: 'polluted' },
      Tags: [
        'mx',
        'mx.version=latest',
        'mx.endpoint={',
        'mx.endpoint=[]',
        'mx.endpoint={"name":7}',
        `mx.endpoint={"name":"Big","x":"${'x'.repeat(70_000)}"}`,
        'mx.endpoint={"name":"A.B","metadata":{"__proto__":"x","path":"/x"}}',
        'mx.metadata={"values":{"__proto__":{"polluted":true}}}',
        `mx.endpoint={"name":"Deep.Deep","request":${'{"values":['.repeat(100)}${']}'.repeat(100)}}`,
      ],
    })
    await untilNodes(registry, 'evil', ['evil-ok'])
    const [evil] = await registry.getService('evil')
    t.same(evil?.nodes[0]?.metadata, {})
    t.same(evil?.metadata, {})
    t.same(
      evil?.endpoints.map(({ name, metadata }) => [name, metadata]),
      [
        ['A.B', { path: '/x' }],
        ['Deep.Deep', {}],
      ],
    )
    t.equal(({} as Record<string, unknown>)['polluted'], undefined)
    await registry.listServices()
    const told = warnings.join('\n')
    for (const reason of [
      /"a" of evil: left out: address of node .* got "not an address:1"/,
      /"b" of evil: left out: .*10\.0\.0\.256:1/,
      /"c" of evil: left out: .*127\.0\.0\.1:0/,
      /"d" of evil: left out: version must be/,
      /the tag "mx\.endpoint=\{" is left out/,
      /a tag of 70\d+ characters is left out/,
      /service evil: the tag/,
    ])
      t.match(told, reason)
    for (const { ID } of [...bad, { ID: 'evil-ok' }]) await remove(ID)
  })
}

function testOutages(t: Test): void {
  t.test(
    'an agent that is killed and comes back with its data is an outage, not a change',
    async (t) => {
      const agent = await startConsul(t)
      if (agent === undefined) return
      const registry = open(t, agent)
      await registry.register?.(GREETER, { ttlSeconds: 90 })
      await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
      const told: string[] = []
      const hear = ({ type }: RegistryEvent): void => void told.push(type)
      const onOutage = (reason: Error | undefined): void => {
        told.push(reason === undefined ? 'back' : `away: ${reason.message}`)
      }
      registry.watch?.(hear, { service: GREETER.name, onOutage })
      await registry.getService(GREETER.name)
      await agent.kill()
      await until(() => told.length === 1)
      t.match(told[0], /away: Consul at 127\.0\.0\.1 does not answer: .*(ECONN|hang up)/)
      await t.rejects(
        async () => registry.getService(GREETER.name),
        /does not answer.*ECONNREFUSED/,
      )
      await t.rejects(async () => registry.getService('other'), /does not answer.*ECONNREFUSED/)
      const late: (Error | undefined)[] = []
      registry.watch?.(hear, { service: GREETER.name, onOutage: (reason) => late.push(reason) })
      await until(() => late.length === 1)
      t.match(late[0]?.message, /does not answer/, 'who comes during it is told, too')
      await agent.start()
      await until(() => told.at(-1) === 'back')
      await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
      t.notOk(told.includes('create'))
      t.equal(late.at(-1), undefined)
    },
  )

  t.test(
    'an agent that comes back empty tells of it, and is told again by heartbeats',
    async (t) => {
      const agent = await startConsul(t)
      if (agent === undefined) return
      const registry = open(t, agent)
      const all: string[] = []
      const one: string[] = []
      registry.watch?.(({ type }) => all.push(type))
      registry.watch?.(({ type }) => one.push(type), { service: GREETER.name })
      for (let i = 0; i < 5; i++)
        await registry.register?.(makeService(`other-${i}`, ['127.0.0.1:1']), { ttlSeconds: 90 })
      await registry.register?.(GREETER, { ttlSeconds: 90 })
      await until(() => one.length === 1 && all.length === 6)
      await agent.start({ empty: true })
      await until(() => one.at(-1) === 'delete' && all.at(-1) === 'delete')
      await registry.register?.(GREETER, { ttlSeconds: 90 })
      await until(() => one.at(-1) === 'create' && all.at(-1) === 'create')
      t.same(one, ['create', 'delete', 'create'])
    },
  )
}

function testAccess(t: Test): void {
  t.test('what the ACLs refuse is told with the permission that is missing', async (t) => {
    const agent = await startConsul(t, { acl: true })
    if (agent === undefined) return
    const registry = open(t, agent)
    await registry.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])

    const { token: _, ...anonymous } = agent
    const stranger = open(t, { ...anonymous, token: undefined })
    const refused = /Permission denied.*the token needs service:write "go.mx.api.greeter"/
    await t.rejects(async () => stranger.register?.(GREETER, { ttlSeconds: 90 }), refused)
    await t.rejects(async () => stranger.deregister?.(GREETER), refused)

    const secret = 'c0ffee00-0000-4000-8000-000000000001'
    const unknown = open(t, agent, { token: secret })
    await t.rejects(async () => unknown.getService(GREETER.name), {
      message: 'Consul does not know the token (ACL not found)',
    })
    const reasons: (Error | undefined)[] = []
    unknown.watch?.(() => {}, { onOutage: (reason) => reasons.push(reason) })
    await until(() => reasons.length === 1)
    t.match(reasons[0]?.message, /ACL not found/)

    await agent.call('PUT', '/acl/policy', {
      Name: 'reader',
      Rules: 'service_prefix "" { policy = "read" } node_prefix "" { policy = "read" }',
    })
    await agent.call('PUT', '/acl/token', { SecretID: secret, Policies: [{ Name: 'reader' }] })
    await until(() => reasons.length === 2)
    t.equal(reasons[1], undefined, 'and it ends when the token is known')
    await untilNodes(unknown, GREETER.name, ['127.0.0.1:9001'])
    const text = JSON.stringify([reasons.map(String), Object.values(reasons[0] ?? {})])
    t.notOk(text.includes(secret))
  })

  t.test('with TLS the agent must be the one the certificates say', async (t) => {
    const certificate = createCertificate(['localhost', '127.0.0.1'])
    const agent = await startConsul(t, { certificate })
    if (agent === undefined) return
    const folder = createCertificateFolder()
    t.teardown(folder.remove)
    const { certFile: caFile } = folder.write('ca', certificate)
    const registry = open(t, agent, { secure: true, caFile })
    await registry.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    const trusting = open(t, agent, { secure: true })
    await t.rejects(async () => trusting.getService('a'), /does not answer: .*self-signed/)
    t.throws(
      () => createConsulRegistry({ secure: true, caFile: `${folder.path}/none` }),
      /cannot read the ca file for Consul: ENOENT/,
    )
  })
}

function testContract(t: Test, agent: ConsulAgent): void {
  testRegistry(t, async () => {
    const own = (await agent.call('GET', '/agent/services')) as Record<string, unknown>
    for (const id of Object.keys(own)) await agent.call('PUT', `/agent/service/deregister/${id}`)
    const registry = createConsulRegistry({
      host: agent.host,
      port: agent.port,
      pace: { gapMs: 10 },
    })
    /** Another one, to see what arrived in the catalog. */
    const witness = createConsulRegistry({ host: agent.host, port: agent.port })
    t.teardown(() => witness.close?.())
    let held: readonly Service[] = []
    const become: RegistrySubject['become'] = async (services) => {
      for (const service of services) await registry.register?.(service, { ttlSeconds: 90 })
      for (const old of held) {
        const wanted = services.filter((s) => s.name === old.name && s.version === old.version)
        const ids = new Set(wanted.flatMap(({ nodes }) => nodes.map(({ id }) => id)))
        const nodes = old.nodes.filter(({ id }) => !ids.has(id))
        await registry.deregister?.({ ...old, nodes })
      }
      held = services
      await until(async () => {
        const names = new Set(['go.mx.api.greeter', 'go.mx.api.users'])
        const found = []
        for (const name of names) found.push(...(await witness.getService(name)))
        const counts = (list: readonly Service[]): string[] =>
          list.map(({ name, version, nodes }) => `${name} ${version} ${nodes.length}`).sort()
        return isDeepStrictEqual(counts(found), counts(services))
      })
    }
    return { registry, become, listsNodes: false }
  })
}
