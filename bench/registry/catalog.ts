import { toRegistration } from '../../adapters/registry/consul/registration.ts'
import type { Service } from '../../core/contracts/registry.ts'
import type { ConsulAgent } from './processes/consul-agent.ts'

/** Maximum operations per transaction in Consul. */
export const MAX_OPERATIONS = 64
/** Number of concurrent transactions. */
const WRITERS = 4

/**
 * Creates a service entry as the SDK does, with three routed endpoints and many nodes. `Bench.Where` is defined in
 * service-process.ts.
 */
export function makeLargeService(
  name: string,
  nodes: readonly Service['nodes'][number][],
): Service {
  const short = name.slice(name.lastIndexOf('.') + 1)
  const value = {
    name: 'CallRequest',
    type: 'CallRequest',
    values: [{ name: 'name', type: 'string', values: [] }],
  }
  return {
    name,
    version: 'latest',
    metadata: {},
    endpoints: ['Where', 'List', 'Add'].map((method) => ({
      name: `Bench.${method}`,
      request: value,
      response: value,
      metadata: { path: `/api/${short}/${method.toLowerCase()}`, method: 'GET' },
    })),
    nodes,
  }
}

/** Registered hosts, including pending ones; shared, because there is only one Consul at a time. */
const hosts = new Map<string, Promise<unknown>>()

/** Writes services to Consul's catalog directly, in batches and without checks. Node n is placed on host n. */
export async function writeCatalog(
  { call }: Pick<ConsulAgent, 'call'>,
  services: Iterable<Service>,
): Promise<void> {
  const batches = toBatches(services)
  async function write(): Promise<void> {
    for (const batch of batches) {
      for (const { Node: host } of batch) {
        const entry = { Node: host, Address: '127.0.0.1' }
        const registration = hosts.get(host) ?? call('PUT', '/catalog/register', entry)
        hosts.set(host, registration)
        await registration
      }
      await call(
        'PUT',
        '/txn',
        batch.map((entry) => ({ Service: { Verb: 'set', ...entry } })),
      )
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, write))
}

interface Entry {
  readonly Node: string
  readonly Service: object
}

function* toBatches(services: Iterable<Service>): Generator<Entry[]> {
  let batch: Entry[] = []
  for (const service of services) {
    for (const [i, node] of service.nodes.entries()) {
      batch.push(toEntry(service, node, i))
      if (batch.length < MAX_OPERATIONS) continue
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

/** Creates the same catalog entry as the adapter does. */
function toEntry(service: Service, node: Service['nodes'][number], host: number): Entry {
  const { id, name, tags, meta, address, port, weight } = toRegistration(service, node, 'mx', 0)
  return {
    Node: `host-${host}`,
    Service: {
      ...{ ID: id, Service: name, Tags: tags, Meta: meta, Address: address, Port: port },
      Weights: { Passing: weight, Warning: 1 },
    },
  }
}
