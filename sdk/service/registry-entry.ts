import { randomUUID } from 'node:crypto'
import type { Service as ServiceEntry } from '../../core/contracts/registry.ts'
import type { ServicePort } from './port.ts'

/** What a registry is told of a service that runs. */
export interface RunningService extends Omit<ServiceEntry, 'nodes'> {
  /** Where it is reached, `host:port`. */
  readonly address: string
  readonly server: ServicePort['server']
  /** Name of the registry. */
  readonly registry: string
  /** Name of its broker; empty: it has none. */
  readonly broker: string
  /** What the runtime that started it calls it; empty: none did. */
  readonly instance: string
}

/** Of its name in the id of a node. */
const NODE_NAME_MAX = 200

/** The entry of a service: its one node has an id of its own each time (reference 6). */
export function toServiceEntry(service: RunningService): ServiceEntry {
  const { name, version, metadata, endpoints } = service
  const { address, server, registry, broker, instance } = service
  return {
    name,
    version,
    metadata,
    endpoints,
    nodes: [
      {
        id: `${name.slice(0, NODE_NAME_MAX)}-${randomUUID()}`,
        address,
        metadata: {
          protocol: 'mx',
          transport: 'http',
          server,
          registry,
          ...(broker !== '' && { broker }),
          ...(instance !== '' && { instance }),
        },
      },
    ],
  }
}
