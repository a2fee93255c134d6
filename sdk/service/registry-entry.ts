import { randomUUID } from 'node:crypto'
import type { Service as ServiceEntry } from '../../core/contracts/registry.ts'
import type { ServicePort } from './port.ts'

/** A running service with the data for its registry entry. */
export interface RunningService extends Omit<ServiceEntry, 'nodes'> {
  /** Registered address, `host:port`. */
  readonly address: string
  readonly server: ServicePort['server']
  /** Name of the registry. */
  readonly registry: string
  /** Name of its broker; empty if none. */
  readonly broker: string
  /** Name of the runtime instance; empty if not started by a runtime. */
  readonly instance: string
}

/** Maximum length of the service name in a node id. */
const NODE_NAME_MAX = 200

/** Creates the registry entry of a service, with one node whose id is unique per start (reference 6). */
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
