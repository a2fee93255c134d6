import type { SrvRecord } from 'node:dns'
import { isIP } from 'node:net'
import type { Node } from '../../../core/contracts/registry.ts'
import { PRIORITY, parseHostPort, RESOLVED } from '../../../core/upstream/node/parse-node.ts'
import type { NameResolver } from './resolver.ts'

/** An SRV name that replaces the nodes of a list. */
export interface SrvName {
  /** Name such as `_http._tcp.shop.internal`. */
  readonly name: string
  /** Protocol of the nodes, as in `protocol` of {@link Node.metadata}. */
  readonly protocol: string
}

/** Prefix of SRV names in a list of nodes. */
export const SRV_SCHEME = 'dns+srv'
const SRV = /^dns\+srv(?:\+([a-z]+))?:\/\/(.*)$/
const PROTOCOLS = ['http', 'https', 'mx', 'mxs', 'grpc', 'grpcs']
const NAME =
  /^(?=.{1,253}$)_?[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\._?[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*\.?$/i
const MAX_WEIGHT = 1000
/** Leaves room for scheme and IP address in node ids, which have at most 253 characters. */
const MAX_ADDRESS = 190

/**
 * Parses `dns+srv://_http._tcp.name`, or `dns+srv+https://_https._tcp.name` with a protocol.
 * Returns undefined for other texts.
 *
 * @throws {RangeError} with the invalid part and the expected form.
 */
export function parseSrvName(text: string): SrvName | undefined {
  if (!text.startsWith(SRV_SCHEME)) return undefined
  const [, protocol = 'http', name = ''] = SRV.exec(text) ?? []
  if (!PROTOCOLS.includes(protocol) || !NAME.test(name))
    throw new RangeError(
      `SRV nodes must be dns+srv://<name> or dns+srv+<protocol>://<name> with ${PROTOCOLS.join(', ')}, such as dns+srv+https://_https._tcp.shop.internal, got ${JSON.stringify(text)}`,
    )
  return { name, protocol }
}

/** Returns whether the address of a node is a name that must be resolved through DNS. */
export function hasName({ address }: Node): boolean {
  const { host = '' } = parseHostPort(address) ?? {}
  return isIP(host) === 0
}

/**
 * Returns a node for each address of a node's host name, or the node itself if its host is an IP
 * address.
 */
export async function resolveNode(node: Node, { addresses }: NameResolver): Promise<Node[]> {
  if (!hasName(node)) return [node]
  const found = await addresses(parseHostPort(node.address)!.host)
  // The address still contains the name, which is used for TLS and `Host`.
  return found.map((address) => ({
    ...node,
    id: `${node.id}/${address}`,
    metadata: { ...node.metadata, [RESOLVED]: address },
  }))
}

/** Returns a node for each address of each target of an SRV name. */
export async function resolveSrv(
  { name, protocol }: SrvName,
  resolver: NameResolver,
): Promise<Node[]> {
  const records = await resolver.services(name)
  const most = Math.max(...records.map(({ weight }) => weight))
  // A target "." means that the service is not available (RFC 2782).
  const targets = records.filter((record) => record.name !== '' && record.name !== '.')
  const nodes = await Promise.all(
    targets.map((record) => resolveNode(toNode(record, protocol, most), resolver)),
  )
  return nodes.flat()
}

function toNode(record: SrvRecord, protocol: string, most: number): Node {
  const host = record.name.replace(/\.$/, '')
  const address = `${host}:${record.port}`
  if (parseHostPort(address) === undefined || address.length > MAX_ADDRESS)
    throw new Error(`the SRV target ${JSON.stringify(address)} is not a host name with a port`)
  const scale = most > MAX_WEIGHT ? MAX_WEIGHT / most : 1
  return {
    id: protocol === 'http' ? address : `${protocol}://${address}`,
    address,
    metadata: {
      protocol,
      weight: `${Math.max(1, Math.round(record.weight * scale))}`,
      [PRIORITY]: `${record.priority}`,
    },
  }
}
