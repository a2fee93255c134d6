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

/** The version of whoever names none. */
export const DEFAULT_VERSION = 'latest'

/** What is null, and an empty version, are as good as missing. */
type OrNull<T, Keys extends keyof T> = Omit<T, Keys> & {
  readonly [Key in Keys]: T[Key] | null
}

/** A version of a service as it was sent. */
export interface ServiceInput extends Pick<Service, 'name' | 'version'> {
  readonly metadata: Service['metadata'] | null
  readonly endpoints: readonly OrNull<Endpoint, 'metadata'>[] | null
  readonly nodes: readonly OrNull<Node, 'metadata'>[] | null
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

/** How long the entry of a version is, as JSON; a byte more for each node. */
export function toEntryBytes(service: Service, domain: string): number {
  const entry = toEntry({ ...service, nodes: [] }, domain)
  return service.nodes.reduce((sum, node) => sum + toNodeBytes(node), toBytes(entry))
}

/** What a node adds to {@link toEntryBytes}. */
export function toNodeBytes(node: Node): number {
  return toBytes(toEntryNode(node)) + 1
}

function toBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** What a registry is told of an entry: the fields it knows, without the domain. */
export function toService({ name, version, metadata, endpoints, nodes }: ServiceInput): Service {
  const { domain: _, ...own } = metadata ?? {}
  return {
    name,
    version: version || DEFAULT_VERSION,
    metadata: own,
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
