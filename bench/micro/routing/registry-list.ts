import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Service } from '../../../core/contracts/registry.ts'
import { Client } from '../../../sdk/client/client.ts'
import { createServiceLog } from '../../../sdk/log/service-log.ts'
import { createRegistryService } from '../../../services/registry/service.ts'
import type { Micro } from '../micro.ts'

const SERVICES = 10_000
/** Maximum duration of an event loop tick, in milliseconds. */
const MAX_TICK_MS = 20
const ROUNDS = 20

const field = { name: 'name', type: 'string', values: [] }
const request = { name: 'CallRequest', type: 'CallRequest', values: [field, field, field] }
const requestSchema = JSON.stringify({
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, count: { type: 'integer', default: 3 } },
})

/** Creates an entry as the SDK does: five endpoints, two nodes, about 3 KB. */
function createEntry(index: number): Service {
  return {
    name: `shop.service-${index}`,
    version: 'latest',
    metadata: { owner: 'ann' },
    endpoints: ['Get', 'List', 'Put', 'Delete', 'Watch'].map((method) => ({
      name: `Things.${method}`,
      request,
      response: request,
      metadata: { description: 'Does something.', requestSchema, responseSchema: requestSchema },
    })),
    nodes: [9001, 9002].map((port) => ({
      id: `shop.service-${index}-${port}`,
      address: `127.0.0.1:${port}`,
      metadata: { protocol: 'mx', transport: 'http', server: 'uws', registry: 'memory' },
    })),
  }
}

const { service, registry, close } = createRegistryService({
  createRegistry: () => createMemoryRegistry(),
  address: '127.0.0.1:0',
  log: createServiceLog({ service: 'registry', write: () => {} }),
})
for (let i = 0; i < SERVICES; i++) await registry.register?.(createEntry(i))
const client = new Client({ address: await service.start(), inProcess: false })
let changes = 0

/** Changes an entry, so that the list is sorted again, and then reads all pages. */
async function readAll(): Promise<number> {
  await registry.register?.({ ...createEntry(0), metadata: { owner: String(changes++) } })
  let count = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = (await client.call('registry', 'Registry.ListServices', { after })) as {
      readonly services: readonly unknown[]
      readonly next?: string
    }
    count += page.services.length
    after = page.next
  }
  if (count !== SERVICES + 1) throw new Error(`listed ${count} of ${SERVICES + 1} services`)
  return count
}

/**
 * Measures the 99th percentile of event loop ticks, in milliseconds, in a process with client and server. The maximum
 * is only printed, because it depends on other load on the machine.
 */
async function measureTicks(): Promise<number> {
  for (let i = 0; i < ROUNDS; i++) await readAll()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  for (let i = 0; i < ROUNDS; i++) await readAll()
  delay.disable()
  const [p99, max] = [delay.percentile(99) / 1e6, delay.max / 1e6]
  process.stdout.write(
    `registry-list: event loop ticks: p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms\n`,
  )
  return p99
}

const micro: Micro = {
  benches: {
    [`read ${SERVICES} services, page by page`]: readAll,
  },
  async close() {
    const tickMs = await measureTicks()
    client.close()
    await close()
    if (tickMs > MAX_TICK_MS)
      throw new Error(`registry-list: ticks took ${tickMs.toFixed(1)} ms, limit ${MAX_TICK_MS}`)
  },
}

export default micro
