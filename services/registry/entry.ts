import type { Endpoint, Node, Service, Value } from '../../core/contracts/registry.ts'

/** A node as it is written (specification: Service entry, Node). */
export interface EntryNode extends Node {
  /** That of the address. */
  readonly port: string
}

/** What is said about a registration, or asked for. */
export interface EntryOptions {
  /** Seconds a registration lives; 0: as usual. */
  readonly ttl: number
  /** Empty: the default one. */
  readonly domain: string
}

/** One version of a service as it is written (specification: Service entry). */
export interface ServiceEntry extends Omit<Service, 'nodes'> {
  readonly nodes: readonly EntryNode[]
  /** `ttl` is for registering; who reads gets 0. */
  readonly options: EntryOptions
}

/** A version of a service as callers are told it; its metadata include the domain. */
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

/** What a registry is told of an entry: the fields it knows, without the domain. */
export function toService(entry: Service): Service {
  const { name, version, endpoints, nodes } = entry
  const { domain: _, ...metadata } = entry.metadata
  return {
    name,
    version,
    metadata,
    endpoints: endpoints.map(toEndpoint),
    nodes: nodes.map(({ id, address, metadata }) => ({ id, address, metadata })),
  }
}

function toEntryNode({ id, address, metadata }: Node): EntryNode {
  return { id, address, port: address.slice(address.lastIndexOf(':') + 1), metadata }
}

function toEndpoint({ name, request, response, metadata }: Endpoint): Endpoint {
  return { name, request: toValue(request), response: toValue(response), metadata }
}

function toValue({ name, type, values }: Value): Value {
  return { name, type, values: values.map(toValue) }
}
