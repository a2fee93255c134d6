import type { Endpoint, Node, Service, Value } from '../../core/contracts/registry.ts'

/** A node in requests and responses (specification: Service entry, Node). */
export interface EntryNode extends Node {
  /** Port of the address. */
  readonly port: string
}

/** Options of a registration or query. */
export interface EntryOptions {
  /** TTL of a registration in seconds; 0 for the default. */
  readonly ttl: number
  /** Domain; empty for the default domain. */
  readonly domain: string
}

/** A version of a service in requests and responses (specification: Service entry). */
export interface ServiceEntry extends Omit<Service, 'nodes'> {
  readonly nodes: readonly EntryNode[]
  /** The `ttl` applies to registrations and is 0 in responses. */
  readonly options: EntryOptions
}

/** Default version. */
export const DEFAULT_VERSION = 'latest'

// `null` and an empty version are treated as missing.
type OrNull<T, Keys extends keyof T> = Omit<T, Keys> & {
  readonly [Key in Keys]: T[Key] | null
}

/** Converts a version received from a caller. */
export interface ServiceInput extends Pick<Service, 'name' | 'version'> {
  readonly metadata: Service['metadata'] | null
  readonly endpoints: readonly OrNull<Endpoint, 'metadata'>[] | null
  readonly nodes: readonly OrNull<Node, 'metadata'>[] | null
}

/** Converts a version for responses. Its metadata contains the domain. */
export function toEntry(service: Service, domain: string): ServiceEntry {
  const { name, version, metadata, endpoints, nodes } = service
  return {
    name,
    version,
    metadata: { ...metadata, domain },
    endpoints,
    nodes: nodes.map(toEntryNode),
    options: { ttl: 0, domain },
  }
}

/** Returns the size of a version as JSON. Callers must add one byte per node. */
export function toEntryBytes(service: Service, domain: string): number {
  const entry = toEntry({ ...service, nodes: [] }, domain)
  return service.nodes.reduce((sum, node) => sum + toNodeBytes(node), toBytes(entry))
}

/** Returns the size of a node, which must be added to {@link toEntryBytes}. */
export function toNodeBytes(node: Node): number {
  return toBytes(toEntryNode(node)) + 1
}

function toBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Converts an entry for the registry. The result contains the known fields without the domain. */
export function toService({ name, version, metadata, endpoints, nodes }: ServiceInput): Service {
  const { domain: _, ...otherMetadata } = metadata ?? {}
  return {
    name,
    version: version || DEFAULT_VERSION,
    metadata: otherMetadata,
    endpoints: (endpoints ?? []).map(toEndpoint),
    nodes: (nodes ?? []).map(({ id, address, metadata }) => ({
      id,
      address,
      metadata: metadata ?? {},
    })),
  }
}

function toEntryNode({ id, address, metadata }: Node): EntryNode {
  return { id, address, port: address.slice(address.lastIndexOf(':') + 1), metadata }
}

function toEndpoint({ name, request, response, metadata }: OrNull<Endpoint, 'metadata'>): Endpoint {
  return {
    name,
    request: toValue(request),
    response: toValue(response),
    metadata: metadata ?? {},
  }
}

function toValue({ name, type, values }: Value): Value {
  return { name, type, values: values.map(toValue) }
}
