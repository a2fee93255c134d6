import type { Endpoint, Node, Service } from '../../../core/contracts/registry.ts'
import { checkService } from '../../../core/registry/service.ts'
import { toSettingMetadata } from '../../../core/registry/setting-metadata.ts'
import { parseNode } from '../../../core/upstream/node/parse-node.ts'
import { parseEndpoints } from './endpoints.ts'
import type { KubernetesService, ServicePort, Slice } from './objects.ts'

/** Annotations copied to the metadata of an endpoint for routing. */
const ROUTE_KEYS = ['path', 'host', 'method', 'handler']
/** Annotations copied to the metadata of every node. */
const NODE_KEYS = ['protocol', 'weight', 'pipeline']
const METADATA = 'metadata-'
/** Supported address types. */
const FAMILIES: readonly string[] = ['IPv4', 'IPv6']
/** Port names in order of preference. Each implies the protocol of the same name. */
const PORT_NAMES: readonly string[] = ['mx', 'mxs', 'http', 'https', 'grpc', 'grpcs']
/**
 * HTTP/2 with prior knowledge
 * (https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol).
 */
const H2C = 'kubernetes.io/h2c'

/**
 * Converts a Service and its slices to a service with nodes.
 *
 * @throws {TypeError} with the invalid annotation, port or address and its expected form.
 */
export function toService(from: KubernetesService, slices: Iterable<Slice>): Service {
  const { name, annotations } = from
  const port = findPort(from)
  const nodeMetadata = toNodeMetadata(annotations, port)
  const endpoints = toEndpoints(annotations)
  const metadata = toSettingMetadata((key) => annotations.get(key))
  // A Service without endpoints is plain HTTP, unless its port only accepts calls.
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

/** Returns a warning about an unsupported setting of a Service. */
export function findWarning(from: KubernetesService): string | undefined {
  const { name, appProtocol } = findPort(from)
  if (appProtocol !== H2C || PORT_NAMES.includes(name) || from.annotations.has('protocol'))
    return undefined
  return `its port has the appProtocol ${H2C}, but HTTP/2 to backends is not supported and the gateway uses HTTP/1.1; set mx/protocol: grpc for gRPC, or mx/protocol: http to confirm HTTP/1.1`
}

function findPort({ annotations, ports }: KubernetesService): ServicePort {
  const portOption = annotations.get('port')
  const all = ports.map(({ name, port }) => (name === '' ? port : `${name} (${port})`)).join(', ')
  if (portOption !== undefined) {
    const port = ports.find(({ name, port }) => name === portOption || String(port) === portOption)
    if (port !== undefined) return port
    throw new TypeError(
      `mx/port must be the name or number of one of its ports (${all || 'none'}), got ${JSON.stringify(portOption)}`,
    )
  }
  for (const preferred of PORT_NAMES) {
    const port = ports.find(({ name }) => name === preferred)
    if (port !== undefined) return port
  }
  if (ports.length === 1) return ports[0]!
  throw new TypeError(
    ports.length === 0
      ? 'it has no TCP port'
      : `mx/port must be one of its ports (${all}), or one port must be named ${PORT_NAMES.join(', ')}`,
  )
}

function toNodeMetadata(
  annotations: KubernetesService['annotations'],
  { name, appProtocol }: ServicePort,
): Record<string, string> {
  const metadata: Record<string, string> = {}
  const protocol = [name, appProtocol].find((text) => PORT_NAMES.includes(text))
  // `http` is the default.
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
 * Returns nodes sorted by id. A Service's slices may list an endpoint twice while it moves between
 * them, and once per address family. Such an endpoint is a single node, and a ready entry takes
 * precedence over a terminating one.
 */
function toNodes(
  slices: Iterable<Slice>,
  port: ServicePort,
  family: string,
  metadata: Readonly<Record<string, string>>,
): Node[] {
  const nodes = new Map<string, { node: Node; rank: number }>()
  for (const { addressType, ports, endpoints } of slices) {
    const number = ports.get(port.name)
    // An `FQDN` address could point the gateway to any host, like an ExternalName.
    if (number === undefined || !FAMILIES.includes(addressType)) continue
    for (const { address: host, pod, draining } of endpoints) {
      const address = addressType === 'IPv6' ? `[${host}]:${number}` : `${host}:${number}`
      const id = pod ?? address
      const rank = (addressType === family ? 2 : 0) + (draining ? 0 : 1)
      if ((nodes.get(id)?.rank ?? -1) >= rank) continue
      const state = draining ? { state: 'draining' } : {}
      nodes.set(id, { node: { id, address, metadata: { ...metadata, ...state } }, rank })
    }
  }
  return [...nodes.values()].map(({ node }) => node).sort((a, b) => (a.id < b.id ? -1 : 1))
}
