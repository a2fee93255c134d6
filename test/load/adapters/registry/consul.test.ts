import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { createConsulRegistry } from '../../../../adapters/registry/consul.ts'
import type { Service } from '../../../../core/contracts/registry.ts'
import { type RegistrySubject, testRegistry, waitUntil } from '../../../contracts/registry.ts'
import { type ConsulAgent, startConsul } from '../../../fixtures/consul.ts'
import {
  GREETER,
  GREETER_ID,
  openConsulRegistry,
  SYNC_MS,
  untilNodes,
} from '../../../fixtures/consul-registry.ts'
import { makeNode, makeService } from '../../../fixtures/services.ts'

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

const started = await startConsul(t)
if (started !== undefined) {
  testContract(started)
  testEntries(started)
}

function testContract(agent: ConsulAgent): void {
  testRegistry(t, async () => {
    const agentServices = (await agent.call('GET', '/agent/services')) as Record<string, unknown>
    for (const id of Object.keys(agentServices))
      await agent.call('PUT', `/agent/service/deregister/${id}`)
    const registry = createConsulRegistry({
      host: agent.host,
      port: agent.port,
      pace: { gapMs: 10 },
    })
    /** Another registry, to read the catalog. */
    const observer = createConsulRegistry({ host: agent.host, port: agent.port })
    t.teardown(() => observer.close?.())
    let pending: readonly Service[] = []
    const replaceServices: RegistrySubject['replaceServices'] = async (services) => {
      for (const service of services) await registry.register?.(service, { ttlSeconds: 90 })
      for (const watcher of pending) {
        const expected = services.filter(
          (s) => s.name === watcher.name && s.version === watcher.version,
        )
        const ids = new Set(expected.flatMap(({ nodes }) => nodes.map(({ id }) => id)))
        const nodes = watcher.nodes.filter(({ id }) => !ids.has(id))
        await registry.deregister?.({ ...watcher, nodes })
      }
      pending = services
      await waitUntil(async () => {
        const names = new Set(['go.mx.api.greeter', 'go.mx.api.users'])
        const result = []
        for (const name of names) result.push(...(await observer.getService(name)))
        const counts = (list: readonly Service[]): string[] =>
          list.map(({ name, version, nodes }) => `${name} ${version} ${nodes.length}`).sort()
        return isDeepStrictEqual(counts(result), counts(services))
      })
    }
    return { registry, replaceServices, listsNodes: false }
  })
}

function testEntries(agent: ConsulAgent): void {
  t.test('emits node changes immediately with many watched services', async (t) => {
    // No service has its own connection or poll.
    const watcher = openConsulRegistry(t, agent, { maxWaiting: 0, pollMs: 1e6, onWarning() {} })
    const writer = openConsulRegistry(t, agent)
    const [one, two] = ['127.0.0.1:9001', '127.0.0.1:9002'].map((address) =>
      makeService('crowded', [address]),
    )
    await writer.register!(one!)
    await untilNodes(watcher, 'crowded', ['127.0.0.1:9001'])
    const reported: string[] = []
    watcher.watch!(() => {})
    watcher.watch!(({ type, service }) => reported.push(`${type} ${service.nodes.length}`), {
      service: 'crowded',
      idleMs: () => 1e6,
    })
    await watcher.getService('crowded')
    await writer.register!(two!)
    await waitUntil(() => reported.length === 1, SYNC_MS)
    await writer.deregister!(one!)
    await waitUntil(() => reported.length === 2, SYNC_MS)
    await writer.deregister!(two!)
    await waitUntil(() => reported.length === 3, SYNC_MS)
    t.same(reported, ['update 2', 'update 1', 'delete 0'])
  })

  t.test('registers in a form that other Consul users can read', async (t) => {
    const registry = openConsulRegistry(t, agent)
    const NO_VALUE = { name: '', type: '', values: [] }
    const value = { name: 'Req', type: 'Req', values: [{ name: 'id', type: 'int64', values: [] }] }
    const service: Service = {
      name: 'orders',
      version: 'next',
      metadata: { owner: 'shop' },
      endpoints: [
        {
          name: 'Orders.Get',
          request: value,
          response: NO_VALUE,
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
    t.equal(row?.Service.ID, 'orders:orders-1')
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
    t.match(row?.Checks, [{}, { CheckID: 'service:orders:orders-1', Type: 'ttl' }])
    t.same(await registry.getService('orders'), [service], 'the service reads back unchanged')
    t.same(await registry.listServices(), [{ ...service, nodes: [] }])
    await registry.deregister?.(service)
  })

  t.test('passes the check only on a heartbeat', async (t) => {
    const registry = openConsulRegistry(t, agent)
    await registry.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    const [before] = await readHealthRows(agent, GREETER.name)
    await agent.call('PUT', `/agent/check/fail/service:${GREETER_ID}`)
    await untilNodes(registry, GREETER.name, [])
    await registry.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    const [after] = await readHealthRows(agent, GREETER.name)
    t.equal(after?.Service.ModifyIndex, before?.Service.ModifyIndex, 'the same registration')
    const withWeight = makeService(GREETER.name, [makeNode('127.0.0.1:9001', { weight: '2' })])
    await registry.register?.(withWeight, { ttlSeconds: 90 })
    await waitUntil(async () =>
      isDeepStrictEqual(await registry.getService(GREETER.name), [withWeight]),
    )
    await registry.deregister?.(GREETER)
  })

  t.test('registers again on a heartbeat after the agent lost a registration', async (t) => {
    const registry = openConsulRegistry(t, agent)
    for (const ttlSeconds of [90, 0]) {
      await registry.register?.(GREETER, { ttlSeconds })
      await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
      await agent.call('PUT', `/agent/service/deregister/${GREETER_ID}`)
      await untilNodes(registry, GREETER.name, [])
      await registry.register?.(GREETER, { ttlSeconds })
      await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
      await registry.deregister?.(GREETER)
      await untilNodes(registry, GREETER.name, [])
    }
  })

  t.test('drops a node without heartbeats after its TTL', async (t) => {
    const registry = openConsulRegistry(t, agent)
    const events: string[] = []
    registry.watch?.(({ type }) => events.push(type), { service: GREETER.name })
    // An agent may update the catalog later than the TTL.
    await waitUntil(async () => {
      await registry.register?.(GREETER, { ttlSeconds: 3 })
      return events.length > 0
    }, SYNC_MS)
    await waitUntil(() => events.length >= 2, SYNC_MS).catch(() => {})
    t.same(events, ['create', 'delete'])
    const checks = (await agent.call('GET', '/agent/checks')) as Record<string, unknown>
    t.match(checks[`service:${GREETER_ID}`], { Status: 'critical', Output: /TTL expired/ })
    await registry.deregister?.(GREETER)
  })

  t.test('sets a draining node to maintenance mode', async (t) => {
    const registry = openConsulRegistry(t, agent)
    const draining = makeService(GREETER.name, [makeNode('127.0.0.1:9001', { state: 'draining' })])
    await registry.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    await registry.register?.(draining, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, [])
    await registry.register?.(draining, { ttlSeconds: 90 })
    t.match(await agent.call('GET', '/agent/checks'), {
      [`_service_maintenance:${GREETER_ID}`]: { Status: 'critical', Notes: 'mx: draining' },
    })
    const restarted = openConsulRegistry(t, agent)
    await restarted.register?.(GREETER, { ttlSeconds: 90 })
    await untilNodes(registry, GREETER.name, ['127.0.0.1:9001'])
    await restarted.deregister?.(GREETER)
    await untilNodes(registry, GREETER.name, [])
  })

  t.test('separates domains', async (t) => {
    const registries = [
      openConsulRegistry(t, agent),
      openConsulRegistry(t, agent, { domain: 'shop' }),
    ]
    const services = ['127.0.0.1:9001', '127.0.0.1:9002'].map((address) =>
      makeService('cart', [address]),
    )
    for (const [i, registry] of registries.entries())
      await registry.register?.(services[i]!, { ttlSeconds: 90 })
    await untilNodes(registries[0]!, 'cart', ['127.0.0.1:9001'])
    await untilNodes(registries[1]!, 'cart', ['127.0.0.1:9002'])
    await registries[0]!.deregister?.(services[0]!)
    await untilNodes(registries[0]!, 'cart', [])
    await waitUntil(async () => (await registries[0]!.listServices()).length === 0)
    t.equal((await registries[1]!.listServices()).length, 1)
    t.same([...registries[0]!.listDomains!()], ['shop'], 'the domains are listed')
    await registries[1]!.deregister?.(services[1]!)
  })

  t.test('rejects registrations that Consul cannot store', async (t) => {
    const registry = openConsulRegistry(t, agent)
    const register = async (service: Service): Promise<void> => registry.register?.(service)
    await t.rejects(register(makeService('a', [{ ...makeNode('a:1'), id: 'a/b' }])), {
      name: 'TypeError',
      message: /node id must be letters.*got "a\/b"/,
    })
    const big = { ...GREETER, metadata: { text: 'x'.repeat(300_000) } }
    await t.rejects(register(big), {
      name: 'TypeError',
      message: /exceeds the limit of 262144 bytes/,
    })
    t.throws(() => createConsulRegistry({ domain: '../x' }), /domain must be/)
  })
}
