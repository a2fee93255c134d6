import type { Endpoint, Node, Service } from '../../../core/contracts/registry.ts'
import { checkService } from '../../../core/registry/service.ts'
import { parseNode } from '../../../core/upstream/parse-node.ts'
import { parseEndpoints } from './endpoints.ts'
import type { KubernetesService, ServicePort, Slice } from './objects.ts'

/** Annotations that become metadata of an endpoint, by which requests are routed. */
const ROUTE_KEYS = ['path', 'host', 'method', 'handler']
/** Annotations that become metadata of every node. */
const NODE_KEYS = ['protocol', 'weight', 'pipeline']
const METADATA = 'metadata-'
/** Of the addresses that are taken. */
const FAMILIES: readonly string[] = ['IPv4', 'IPv6']
/** Names of ports, the first that is there is taken, and the protocol each stands for. */
const PORT_NAMES: readonly string[] = ['mx', 'mxs', 'http', 'https', 'grpc', 'grpcs']
/** HTTP/2 with prior knowledge (https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol). */
const H2C = 'kubernetes.io/h2c'

/**
 * A Service and its slices as a service with nodes.
 *
 * @throws {TypeError} naming the annotation, port or address that is wrong and what would be right.
 */
export function toService(from: KubernetesService, slices: Iterable<Slice>): Service {
  const { name, annotations } = from
  const port = findPort(from)
  const nodeMetadata = toNodeMetadata(annotations, port)
  const endpoints = toEndpoints(annotations)
  const metadata: Record<string, string> = {}
  // One that says nothing of calls is plain HTTP, unless its port takes nothing but calls.
  const isPlain = endpoints.length === 0 && !annotations.has('endpoints')
  if (isPlain && !nodeMetadata['protocol']?.startsWith('mx'))
    metadata['handler'] = annotations.get('handler') ?? 'proxy'
  for (const [key, value] of annotations)
    if (key.startsWith(METADATA)) metadata[key.slice(METADATA.length)] = value
  const service: Service = {
    name: annotations.get('name') ?? name,
    version: annotations.get('version') ?? 'latest',
    metadata,
    endpoints,
    nodes: toNodes(slices, port, from.family, nodeMetadata),
  }
  checkService(service)
  return service
}

/** What a Service asks for and does not get; undefined: nothing. */
export function findWarning(from: KubernetesService): string | undefined {
  const { name, appProtocol } = findPort(from)
  if (appProtocol !== H2C || PORT_NAMES.includes(name) || from.annotations.has('protocol'))
    return undefined
  return `the appProtocol of its port is ${H2C}, and the gateway sends HTTP/1.1 to it: HTTP/2 to backends is not supported yet. Set mx/protocol: grpc for gRPC, or mx/protocol: http where HTTP/1.1 is meant`
}

function findPort({ annotations, ports }: KubernetesService): ServicePort {
  const wanted = annotations.get('port')
  const all = ports.map(({ name, port }) => (name === '' ? port : `${name} (${port})`)).join(', ')
  if (wanted !== undefined) {
    const port = ports.find(({ name, port }) => name === wanted || String(port) === wanted)
    if (port !== undefined) return port
    throw new TypeError(
      `mx/port must be the name or number of one of its ports, ${all || 'of which it has none'}; got ${JSON.stringify(wanted)}`,
    )
  }
  for (const known of PORT_NAMES) {
    const port = ports.find(({ name }) => name === known)
    if (port !== undefined) return port
  }
  if (ports.length === 1) return ports[0]!
  throw new TypeError(
    ports.length === 0
      ? 'it has no TCP port'
      : `mx/port must name one of its ports, ${all}, or one of them must be called ${PORT_NAMES.join(', ')}`,
  )
}

function toNodeMetadata(
  annotations: KubernetesService['annotations'],
  { name, appProtocol }: ServicePort,
): Record<string, string> {
  const metadata: Record<string, string> = {}
  const protocol = [name, appProtocol].find((text) => PORT_NAMES.includes(text))
  // What goes without saying is not said.
  if (protocol !== undefined && protocol !== 'http') metadata['protocol'] = protocol
  for (const key of NODE_KEYS) {
    const value = annotations.get(key)
    if (value !== undefined) metadata[key] = value
  }
  const problem = parseNode({ id: '', address: 'localhost:1', metadata })
  if (typeof problem === 'string') throw new TypeError(`mx/${problem}`)
  return metadata
}

function toEndpoints(annotations: KubernetesService['annotations']): Endpoint[] {
  const text = annotations.get('endpoints')
  const endpoints = text === undefined ? [] : parseEndpoints(text)
  if (!annotations.has('path')) return endpoints
  const metadata: Record<string, string> = { handler: 'proxy' }
  for (const key of ROUTE_KEYS) {
    const value = annotations.get(key)
    if (value !== undefined) metadata[key] = value
  }
  const none = { name: '', type: '', values: [] }
  endpoints.push({ name: 'Http.Any', request: none, response: none, metadata })
  return endpoints
}

/**
 * In the order of their ids. The slices of a service may name an endpoint twice while it moves from one to another, and
 * once in each address family: it is one node, and one that stays is believed before one that goes.
 */
function toNodes(
  slices: Iterable<Slice>,
  port: ServicePort,
  family: string,
  metadata: Readonly<Record<string, string>>,
): Node[] {
  const found = new Map<string, { node: Node; rank: number }>()
  for (const { addressType, ports, endpoints } of slices) {
    const number = ports.get(port.name)
    // A name (`FQDN`) would lead the gateway anywhere, as an ExternalName would.
    if (number === undefined || !FAMILIES.includes(addressType)) continue
    for (const { address: host, pod, draining } of endpoints) {
      const address = addressType === 'IPv6' ? `[${host}]:${number}` : `${host}:${number}`
      const id = pod ?? address
      const rank = (addressType === family ? 2 : 0) + (draining ? 0 : 1)
      if ((found.get(id)?.rank ?? -1) >= rank) continue
      const state = draining ? { state: 'draining' } : {}
      found.set(id, { node: { id, address, metadata: { ...metadata, ...state } }, rank })
    }
  }
  return [...found.values()].map(({ node }) => node).sort((a, b) => (a.id < b.id ? -1 : 1))
}
