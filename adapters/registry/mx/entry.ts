import type { Endpoint, Node, Service, Value } from '../../../core/contracts/registry.ts'
import { isObject } from './calls.ts'

/** Deeper values describe nothing. */
const MAX_DEPTH = 32

/** A service as the registry service is sent it (specification: Service entry). */
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
 * A service from the entry the registry service tells; undefined for one without name or version. What else is missing or of
 * another type is left out.
 *
 * @param domain the metadata `domain` that goes without saying.
 */
export function readEntry(entry: unknown, domain: string): Service | undefined {
  if (!isObject(entry)) return undefined
  const { name, version } = entry
  if (typeof name !== 'string' || typeof version !== 'string') return undefined
  const metadata = readMap(entry['metadata'])
  if (metadata['domain'] === domain) delete metadata['domain']
  return {
    name,
    version,
    metadata,
    endpoints: readList(entry['endpoints'], readEndpoint),
    nodes: readList(entry['nodes'], readNode),
  }
}

/** Services of a reply: its field `services`. */
export function readEntries(reply: Readonly<Record<string, unknown>>, domain: string): Service[] {
  return readList(reply['services'], (entry) => readEntry(entry, domain))
}

function readNode(node: unknown): Node | undefined {
  if (!isObject(node)) return undefined
  const { id, address } = node
  if (typeof id !== 'string' || typeof address !== 'string') return undefined
  return { id, address, metadata: readMap(node['metadata']) }
}

function readEndpoint(endpoint: unknown): Endpoint | undefined {
  if (!isObject(endpoint) || typeof endpoint['name'] !== 'string') return undefined
  return {
    name: endpoint['name'],
    request: readValue(endpoint['request'], MAX_DEPTH),
    response: readValue(endpoint['response'], MAX_DEPTH),
    metadata: readMap(endpoint['metadata']),
  }
}

function readValue(value: unknown, depth: number): Value {
  const { name, type, values } = isObject(value) ? value : {}
  return {
    name: typeof name === 'string' ? name : '',
    type: typeof type === 'string' ? type : '',
    values: depth === 0 ? [] : readList(values, (inner) => readValue(inner, depth - 1)),
  }
}

function readList<T>(list: unknown, read: (item: unknown) => T | undefined): T[] {
  if (!Array.isArray(list)) return []
  return list.map(read).filter((item) => item !== undefined)
}

function readMap(map: unknown): Record<string, string> {
  const read: Record<string, string> = {}
  if (!isObject(map)) return read
  for (const [key, value] of Object.entries(map))
    if (typeof value === 'string' && key !== '__proto__') read[key] = value
  return read
}
