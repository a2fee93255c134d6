import t from 'tap'
import { waitUntil } from '../../../contracts/registry.ts'
import { startConsul } from '../../../fixtures/consul.ts'
import { sendJson, startConsulDouble } from '../../../fixtures/consul-double.ts'
import { openConsulRegistry, SYNC_MS } from '../../../fixtures/consul-registry.ts'
import { makeService } from '../../../fixtures/services.ts'

t.test("shares Consul's connection limit between two clients without outages", async (t) => {
  const agent = await startConsul(t, { maxConnections: 50 })
  if (agent === undefined) return
  const names = Array.from({ length: 30 }, (_, i) => `service-${i}`)
  const outages: Error[] = []
  const reported = [new Set<string>(), new Set<string>()]
  const warnings: string[] = []
  const registries = reported.map((events) => {
    const registry = openConsulRegistry(t, agent, {
      onWarning: (message) => warnings.push(message),
    })
    for (const service of names) {
      registry.watch?.(() => events.add(service), {
        service,
        onOutage: (reason) => reason !== undefined && outages.push(reason),
      })
    }
    return registry
  })
  await waitUntil(() => warnings.length > 0, SYNC_MS)
  t.match(warnings[0], /Consul rejects further connections.*limits\.http_max_conns_per_client/)
  for (const name of names) await registries[0]?.register?.(makeService(name, ['127.0.0.1:9001']))
  await waitUntil(() => reported.every(({ size }) => size === names.length), SYNC_MS)
  t.same(outages, [])
  t.ok(warnings.length <= 2, `at most one warning per client: ${warnings.length}`)
})

t.test('reuses a few connections for lookups of unknown names', async (t) => {
  let maximum = 0
  const consul = await startConsulDouble(t, ({ path, query }, response) => {
    maximum = Math.max(maximum, consul.countConnections())
    if (query.get('index') === null)
      sendJson(response, path.includes('catalog') ? {} : [], { 'x-consul-index': 7 })
  })
  const registry = openConsulRegistry(t, consul)
  const lookUp = async (service: string): Promise<void> => {
    const unwatch = registry.watch?.(() => {}, { service })
    t.same(await registry.getService(service), [])
    unwatch?.()
  }
  await Promise.all(Array.from({ length: 200 }, (_, i) => lookUp(`none-${i}`)))
  const before = consul.countConnections()
  for (let i = 0; i < 20; i++) await lookUp(`other-${i}`)
  t.equal(consul.countConnections(), before)
  t.ok(maximum <= 16, `${maximum} connections`)
  t.notOk(consul.requests.some(({ query }) => query.has('index')))
})

t.test('finds a service by its exact name only', async (t) => {
  const agent = await startConsul(t)
  if (agent === undefined) return
  const registry = openConsulRegistry(t, agent)
  await registry.register?.(makeService('orders', ['127.0.0.1:9001']))
  await waitUntil(async () => (await registry.getService('orders')).length === 1, SYNC_MS)
  for (const name of ['ORDERS', 'Orders']) t.same(await registry.getService(name), [])
})
