import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { EVENT } from '../../../../adapters/registry/consul/user-events.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { startConsul } from '../../../fixtures/consul.ts'
import {
  type ConsulDouble,
  type DoubleRequest,
  sendJson,
  startConsulDouble,
} from '../../../fixtures/consul-double.ts'
import { openConsulRegistry, SYNC_MS } from '../../../fixtures/consul-registry.ts'
import { makeService } from '../../../fixtures/services.ts'

/** A Consul with given instances and index; blocking queries hang until released. */
async function startScripted(
  t: Test,
): Promise<
  ConsulDouble & { readonly replaceServices: (index: number, ports: readonly number[]) => void }
> {
  let state = { index: 50, ports: [] as readonly number[] }
  const waiting = new Set<() => void>()
  const answer = ({ path, query }: DoubleRequest, response: ServerResponse): void => {
    const reply = (): void => {
      const instances = state.ports.map((Port) => ({
        Node: { Node: 'n', Address: '10.0.0.1' },
        Service: { ID: `web-${Port}`, Service: path.split('/').at(-1), Port },
      }))
      const catalog = path.includes('catalog')
      sendJson(response, catalog ? { web: [] } : instances, { 'x-consul-index': state.index })
    }
    if (query.get('index') === String(state.index)) waiting.add(reply)
    else reply()
  }
  const double = await startConsulDouble(t, answer)
  return {
    ...double,
    replaceServices(index, ports) {
      state = { index, ports }
      for (const reply of waiting) reply()
      waiting.clear()
    },
  }
}

t.test('shares one query between all watchers of a service', async (t) => {
  const consul = await startScripted(t)
  const registry = openConsulRegistry(t, consul)
  const events: string[] = []
  const stops = [1, 2, 3].map((n) =>
    registry.watch?.(({ type }) => events.push(`${n} ${type}`), { service: 'web' }),
  )
  t.same(await registry.getService('web'), [])
  await waitUntil(() => consul.requests.length === 2)
  t.same(
    consul.requests.map(({ query }) => query.get('index')),
    [null, '50'],
    'lookups are served from the watch',
  )
  consul.replaceServices(51, [80])
  await waitUntil(() => events.length === 3)
  t.same(events.sort(), ['1 create', '2 create', '3 create'])
  t.equal((await registry.getService('web'))[0]?.nodes.length, 1)
  await waitUntil(() => consul.requests.length === 3)
  for (const stop of stops) stop?.()
  await waitUntil(() => consul.countConnections() === 1)
})

t.test('emits changes after an index that went backwards', async (t) => {
  const consul = await startScripted(t)
  const registry = openConsulRegistry(t, consul)
  const events: string[] = []
  registry.watch?.(({ type, service }) => events.push(`${type} ${service.nodes.length}`), {
    service: 'web',
  })
  await registry.getService('web')
  await waitUntil(() => consul.requests.length === 2)
  consul.replaceServices(3, [80])
  await waitUntil(() => events.length === 1)
  await waitUntil(() => consul.requests.at(-1)?.query.get('index') === '3')
  consul.replaceServices(4, [80, 81])
  await waitUntil(() => events.length === 2)
  t.same(events, ['create 1', 'update 2'])
})

t.test('returns no state older than the watch', async (t) => {
  const order: string[] = []
  const pending: (() => void)[] = []
  const consul = await startConsulDouble(t, ({ path, query }, response) => {
    if (path.includes('event')) return
    order.push(`${path.split('/')[2]} ${query.has('index')}`)
    const reply = (): void =>
      sendJson(response, path.includes('catalog') ? {} : [], { 'x-consul-index': 1 })
    if (order.length === 1) pending.push(reply)
    else if (!query.has('index')) reply()
  })
  const registry = openConsulRegistry(t, consul)
  registry.watch?.(() => {})
  const answer = registry.getService('web')
  await waitUntil(() => pending.length === 1)
  t.same(order, ['catalog false'])
  pending[0]!()
  t.same(await answer, [])
  t.ok(order.includes('health false'))
})

t.test('shares the first response of a watch with a list', async (t) => {
  const consul = await startScripted(t)
  const registry = openConsulRegistry(t, consul)
  registry.watch?.(() => {})
  const lists = await Promise.all([registry.listServices(), registry.listServices()])
  t.match(lists, [[{ name: 'web' }], [{ name: 'web' }]])
  const requests = () => consul.requests.filter(({ path }) => path.includes('catalog'))
  await waitUntil(() => requests().length === 2)
  t.same(
    requests().map(({ query }) => query.get('index')),
    [null, '50'],
    'read once',
  )
  t.match(await registry.listServices(), [{ name: 'web' }])
  t.equal(requests().length, 3, 'a later lookup queries Consul, since the watch may lag')
})

t.test('polls services beyond the connections with one warning', async (t) => {
  const consul = await startScripted(t)
  const warnings: string[] = []
  const registry = openConsulRegistry(t, consul, {
    maxWaiting: 1,
    maxWatched: 3,
    pollMs: 20,
    onWarning: (message) => warnings.push(message),
  })
  const events: string[] = []
  for (const service of ['a', 'b', 'c'])
    registry.watch?.(({ type }) => events.push(`${service} ${type}`), { service })
  t.throws(
    () => registry.watch?.(() => {}, { service: 'd' }),
    /at most 3 services can be watched in Consul/,
  )
  await Promise.all(['a', 'b', 'c'].map((name) => registry.getService(name)))
  consul.replaceServices(51, [80])
  await waitUntil(() => events.length === 3)
  t.same(events.sort(), ['a create', 'b create', 'c create'])
  t.match(warnings, [/more services are watched than max_waiting=1 allows/])
  t.equal(warnings.length, 1)
})

t.test('polls services without a connection when the catalog reports a change', async (t) => {
  let revision = 1
  const pending = new Set<() => void>()
  const requests: string[] = []
  const consul = await startConsulDouble(t, ({ path, query }, response) => {
    const name = path.split('/').at(-1)!
    const isCatalog = path.includes('catalog')
    const reply = (): void => {
      const tags = (revision: number) => ['mx', 'mx.version=latest', `mx.revision=${revision}`]
      const instance = (revision: number) => ({
        Node: { Node: 'n', Address: '10.0.0.1' },
        Service: { ID: `${name}:${revision}`, Service: name, Port: 80, Tags: tags(revision) },
      })
      const catalog = { a: tags(1), b: tags(revision), c: tags(1) }
      const body = isCatalog ? catalog : [instance(name === 'b' ? revision : 1)]
      sendJson(response, body, { 'x-consul-index': revision })
    }
    if (!isCatalog) requests.push(name)
    if (query.get('index') === String(revision)) pending.add(reply)
    else reply()
  })
  const registry = openConsulRegistry(t, consul, { maxWaiting: 0, pollMs: 1e6, onWarning() {} })
  const events: string[] = []
  registry.watch!(() => {})
  await registry.listServices()
  for (const service of ['a', 'b', 'c'])
    registry.watch!(
      ({ type, service: { name, nodes } }) => events.push(`${type} ${name} ${nodes[0]?.id}`),
      {
        service,
        // Unused for a long time, so it is polled very rarely.
        idleMs: () => 1e6,
      },
    )
  await Promise.all(['a', 'b', 'c'].map((name) => registry.getService(name)))
  // Changes only the catalog, because no service has a connection.
  await waitUntil(() => pending.size === 1)
  requests.length = 0
  revision = 2
  for (const reply of pending) reply()
  await waitUntil(() => events.length > 0)
  t.same(events, ['update b 2'])
  t.same([...new Set(requests)], ['b'])
})

t.test('sends nothing after close', async (t) => {
  const consul = await startScripted(t)
  const registry = openConsulRegistry(t, consul)
  registry.watch?.(() => t.fail('no event expected'), { service: 'web' })
  registry.watch?.(() => t.fail('no event expected'))
  await waitUntil(() => consul.requests.length >= 3)
  await registry.close?.()
  await waitUntil(() => consul.countConnections() === 0)
  await t.rejects(async () => registry.getService('web'), /the registry is closed/)
  registry.watch?.(() => t.fail('no event expected'))?.()
})

t.test('waits for an announced change with or without a slot', async (t) => {
  const agent = await startConsul(t)
  if (agent === undefined) return
  // Registered by another program, without a tag for the revision.
  const add = (name: string, id: string): Promise<unknown> =>
    agent.call('PUT', '/agent/service/register', { Name: name, ID: id, Port: 80 })
  const names = ['first', 'second', 'third']
  for (const name of names) await add(name, `${name}-1`)
  const registry = openConsulRegistry(t, agent, { maxWaiting: 1, pollMs: 100_000 })
  const events: string[] = []
  registry.watch?.(() => {})
  await waitUntil(async () => (await registry.listServices()).length === 3, SYNC_MS)
  for (const name of names) {
    const options = { service: name, idleMs: () => 20_000 }
    registry.watch?.(({ service }) => events.push(`${name} ${service.nodes.length}`), options)
    await registry.getService(name)
  }
  await waitUntil(async () => {
    await add('third', 'third-2')
    await fetch(`http://${agent.host}:${agent.port}/v1/event/fire/${EVENT}`, {
      method: 'PUT',
      body: 'third',
    })
    return events.length > 0
  }, SYNC_MS)
  t.same(events, ['third 2'])
})

t.test('emits an announced service before the catalog lists it', async (t) => {
  const agent = await startConsul(t)
  if (agent === undefined) return
  const writer = openConsulRegistry(t, agent)
  const registry = openConsulRegistry(t, agent, { pace: { gapMs: 100_000, burst: 1 } })
  const events: string[] = []
  registry.watch?.(({ type, service }) => events.push(`${type} ${service.name}`))
  await registry.listServices()
  await waitUntil(async () => {
    await writer.register!(makeService('late', ['127.0.0.1:2']))
    await writer.register!(makeService('late', ['127.0.0.1:1']))
    return events.includes('create late')
  }, SYNC_MS)
})
