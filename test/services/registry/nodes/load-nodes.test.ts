import t from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Registry, Service } from '../../../../core/contracts/registry.ts'
import { withNodes } from '../../../../services/registry/nodes/load-nodes.ts'
import { makeService } from '../../../fixtures/services.ts'

const bare = (service: Service): Service => ({ ...service, nodes: [] })

async function readAll(registry: Registry, services: readonly Service[]): Promise<Service[]> {
  const read: Service[] = []
  const listed = services.map((service) => ({ service, registry }))
  for await (const { service } of withNodes(listed, 'id')) read.push(service)
  return read
}

t.test('queries services listed without nodes, 16 at a time, and keeps their order', async (t) => {
  const memory = createMemoryRegistry()
  t.teardown(() => memory.close?.())
  const services = Array.from({ length: 40 }, (_, i) => makeService(`s${i}`, [`a:${i + 1}`]))
  for (const service of services) await memory.register!(service)
  let inFlight = 0
  let maximum = 0
  const registry: Registry = {
    ...memory,
    async getService(name) {
      maximum = Math.max(maximum, ++inFlight)
      await Promise.resolve()
      inFlight--
      return memory.getService(name)
    },
  }
  t.strictSame(await readAll(registry, services.map(bare)), services)
  t.equal(maximum, 16)
  maximum = 0
  t.strictSame(await readAll(registry, services), services)
  t.equal(maximum, 0, 'services with nodes are not queried')
})

t.test('a version that is removed during loading remains listed without nodes', async (t) => {
  const memory = createMemoryRegistry()
  t.teardown(() => memory.close?.())
  const [removedNode, other] = [
    makeService('gone', ['a:1']),
    { ...makeService('b', ['a:1']), version: '2' },
  ]
  await memory.register!(other)
  const listed = [removedNode, { ...other, version: '1' }, other].map(bare)
  t.strictSame(await readAll(memory, listed), [...listed.slice(0, 2), other])
})
