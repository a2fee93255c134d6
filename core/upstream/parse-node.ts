import { isIP, isIPv4, isIPv6 } from 'node:net'
import { DirectMappedCache } from '../../lib/collections/direct-mapped-cache.ts'
import { flattenString } from '../../lib/text/flatten-string.ts'
import { redactUrl } from '../../lib/text/redact.ts'
import type { Node } from '../contracts/registry.ts'

/** A registry node, read and checked. */
export interface NodeSettings {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** What it speaks: `http`, `mx`, the call protocol and HTTP on one port (docs/protocol.md), or `grpc` over HTTP/2. */
  readonly protocol: 'http' | 'mx' | 'grpc'
  readonly weight: number
  readonly pipeline: number
  /** Whether it is about to leave. */
  readonly draining: boolean
  /** IP addresses that the host name stands for, joined by commas; empty: it is looked up for each connection. */
  readonly resolved: string
}

/**
 * Metadata key: the addresses of the node's host name, as the registry service checked them when the node was registered.
 * Connections go to these, so that a name which is resolved to another address later leads nowhere else.
 */
export const RESOLVED = 'resolved'
/** `mxs` is `mx` over TLS, as `https` is `http` and `grpcs` is `grpc`. */
const PROTOCOLS: ReadonlyMap<string, Pick<NodeSettings, 'protocol' | 'secure'>> = new Map([
  ['http', { protocol: 'http', secure: false }],
  ['https', { protocol: 'http', secure: true }],
  ['mx', { protocol: 'mx', secure: false }],
  ['mxs', { protocol: 'mx', secure: true }],
  ['grpc', { protocol: 'grpc', secure: false }],
  ['grpcs', { protocol: 'grpc', secure: true }],
])
const MAX_WEIGHT = 1000
const MAX_PIPELINE = 64

/** RFC 1123 §2.1 labels, and underscores as container networks use them. */
const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?$/
/** WHATWG URL, "ends in a number checker". */
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[\da-f]*)$/i
const DIGITS = /^[1-9]\d{0,4}$/
/** Hosts named lately: many nodes run on each. */
const HOSTS = new DirectMappedCache<string>()

/** Splits `host:port` or `[IPv6]:port`; undefined when it is neither, or the port is not 1 to 65535. */
export function parseAddress(address: string): { host: string; port: number } | undefined {
  const colon = address.lastIndexOf(':')
  const port = address.slice(colon + 1)
  let host = address.slice(0, Math.max(colon, 0))
  if (!DIGITS.test(port) || Number(port) > 65_535) return undefined
  if (host.startsWith('[') && host.endsWith(']')) {
    host = host.slice(1, -1)
    return isIPv6(host) ? { host, port: Number(port) } : undefined
  }
  if (!HOST.test(host) || host.includes('..')) return undefined
  // 10.0.0.256 is a mistyped address, not a name to ask the DNS for; so is every name that ends in a number to those who read URLs.
  if (ENDS_IN_NUMBER.test(host) && !isIPv4(host)) return undefined
  return { host: toShared(host), port: Number(port) }
}

function toShared(host: string): string {
  const known = HOSTS.find(host)
  if (known !== undefined) return known
  const own = flattenString(host)
  HOSTS.keep(own, own)
  return own
}

/** The address and the known metadata of a node, or the reason why it cannot be used. */
export function parseNode({ address, metadata }: Node): NodeSettings | string {
  const parsed = parseAddress(address)
  if (parsed === undefined)
    return `address must be host:port or [IPv6]:port with a port from 1 to 65535, got ${JSON.stringify(redactUrl(address))}`
  const protocol = readKey(metadata, 'protocol') ?? 'http'
  const known = PROTOCOLS.get(protocol)
  if (known === undefined) {
    return `protocol must be http, https, mx, mxs, grpc or grpcs, got ${JSON.stringify(protocol)}`
  }
  const weight = readCount(metadata, 'weight', MAX_WEIGHT)
  if (typeof weight === 'string') return weight
  const pipeline = readCount(metadata, 'pipeline', MAX_PIPELINE)
  if (typeof pipeline === 'string') return pipeline
  // Other states are for others: whoever registered the node may have a word of its own there.
  const draining = readKey(metadata, 'state') === 'draining'
  const resolved = readKey(metadata, RESOLVED) ?? ''
  if (resolved !== '' && !resolved.split(',').every((text) => isIP(text) !== 0))
    return `${RESOLVED} must be IP addresses, got ${JSON.stringify(resolved)}`
  const { host, port } = parsed
  // Field by field: spreading costs more than all the rest, and there may be 100 000 nodes.
  const { secure } = known
  return { host, port, secure, protocol: known.protocol, weight, pipeline, draining, resolved }
}

/** Whether a node is known, and takes nothing: that of a program which is to be started again. */
export function isOffline({ metadata }: Node): boolean {
  return readKey(metadata, 'state') === 'down'
}

function readCount(metadata: Node['metadata'], key: string, max: number): number | string {
  const text = readKey(metadata, key) ?? '1'
  if (DIGITS.test(text) && Number(text) <= max) return Number(text)
  return `${key} must be a whole number from 1 to ${max}, got ${JSON.stringify(text)}`
}

function readKey(metadata: Node['metadata'], key: string): string | undefined {
  return Object.hasOwn(metadata, key) ? metadata[key] : undefined
}
