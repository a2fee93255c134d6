import { createMemoryRegistry } from '../adapters/registry/memory.ts'
import type { Registry, Service } from '../core/contracts/registry.ts'
import { createRegistryService } from '../services/registry/service.ts'
import type { ExampleBackend } from './backend.ts'

/** A registry service of this process. */
export interface ExampleRegistry {
  /** What `MX_REGISTRY` and `--registry` take. */
  readonly url: string
  /** What it holds. */
  readonly registry: Registry
}

/** Starts a registry service on `port` of this machine, or on any free port when that one is taken. */
export async function startRegistry(port: number): Promise<ExampleRegistry> {
  const start = async (port: number): Promise<ExampleRegistry> => {
    const { service, registry } = createRegistryService({
      createRegistry: () => createMemoryRegistry(),
      address: `127.0.0.1:${port}`,
    })
    return { url: `mx://${await service.start()}`, registry }
  }
  return start(port).catch(() => start(0))
}

/** Plain HTTP backends as a service: the gateway proxies its paths to them. */
export function toPlainService(name: string, backends: readonly ExampleBackend[]): Service {
  const nothing = { name: '', type: '', values: [] }
  const route = { handler: 'proxy', path: `/${name}/**` }
  return {
    name,
    version: 'latest',
    metadata: {},
    endpoints: [{ name: 'Plain.Any', request: nothing, response: nothing, metadata: route }],
    nodes: backends.map(({ port }) => {
      const address = `127.0.0.1:${port}`
      return { id: address, address, metadata: { protocol: 'http' } }
    }),
  }
}
