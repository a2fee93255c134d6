import type { Endpoint, Node, Service } from '../../../core/contracts/registry.ts'
import { isRecord, readEndpoint, readMap } from '../../../core/registry/decode-service.ts'

/** Converts a service to its wire format (specification: Service entry). */
export function toEntry(
  { name, version, metadata, endpoints, nodes }: Service,
  options: { readonly ttl?: number; readonly domain?: string },
): object {
  return {
    name,
    version,
    metadata,
    endpoints,
    nodes: nodes.map((node) => ({
      ...node,
      port: node.address.slice(node.address.lastIndexOf(':') + 1),
    })),
    options,
  }
}

/**
 * Converts the wire format to a service. Returns undefined if the name or version is missing. Other
 * missing or mistyped fields are omitted.
 *
 * @param domain default of the `domain` metadata, which is removed.
 */
export function readEntry(entry: unknown, domain: string): Service | undefined {
  if (!isRecord(entry)) return undefined
  const { name, version } = entry
  if (typeof name !== 'string' || typeof version !== 'string') return undefined
  const metadata = readMap(entry['metadata'])
  if (metadata['domain'] === domain) delete metadata['domain']
  return {
    name,
    version,
    metadata,
    endpoints: readList(entry['endpoints'], readNamed),
    nodes: readList(entry['nodes'], readNode),
  }
}

/** Returns the services of a response. */
export function readEntries(
  response: Readonly<Record<string, unknown>>,
  domain: string,
): Service[] {
  return readList(response['services'], (entry) => readEntry(entry, domain))
}

function readNode(node: unknown): Node | undefined {
  if (!isRecord(node)) return undefined
  const { id, address } = node
  if (typeof id !== 'string' || typeof address !== 'string') return undefined
  return { id, address, metadata: readMap(node['metadata']) }
}

function readNamed(endpoint: unknown): Endpoint | undefined {
  if (!isRecord(endpoint) || typeof endpoint['name'] !== 'string') return undefined
  return readEndpoint(endpoint)
}

function readList<T>(list: unknown, read: (item: unknown) => T | undefined): T[] {
  if (!Array.isArray(list)) return []
  return list.map(read).filter((item) => item !== undefined)
}
