import type { Service } from 'mx-gateway/registry'
import type { ExampleBackend } from './backend.ts'

/** Combines plain HTTP backends into a service, to which the gateway proxies its paths. */
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
