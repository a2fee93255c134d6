import { isIP, isIPv4, isIPv6 } from 'node:net'
import { DirectMappedCache } from '../../../lib/collections/direct-mapped-cache.ts'
import { flattenString } from '../../../lib/text/flatten-string.ts'
import { redactUrl } from '../../../lib/text/redact.ts'
import type { Node } from '../../contracts/registry.ts'

/** A parsed and validated registry node. */
export interface NodeSettings {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** Protocol: `http`; `mx`, the call protocol and HTTP on one port (docs/protocol.md); or `grpc` over HTTP/2. */
  readonly protocol: 'http' | 'mx' | 'grpc'
  readonly weight: number
  readonly pipeline: number
  /** Nodes with greater values are used if nodes with lower values are ejected or have failed (RFC 2782). */
  readonly priority: number
  /** Availability zone; empty if unknown. */
  readonly zone: string
  /** Whether the node is shutting down. */
  readonly draining: boolean
  /** Pinned IP addresses of the host name, joined by commas. If empty, it is resolved for each connection. */
  readonly resolved: string
}

/**
 * Metadata key for addresses of the node's host name, checked by the registry service at registration. Connections use
 * them, so that a later DNS change cannot redirect requests (DNS rebinding).
 */
export const RESOLVED = 'resolved'
/** `mxs` is `mx` over TLS, like `https` for `http` and `grpcs` for `grpc`. */
const PROTOCOLS: ReadonlyMap<string, Pick<NodeSettings, 'protocol' | 'secure'>> = new Map([
  ['http', { protocol: 'http', secure: false }],
  ['https', { protocol: 'http', secure: true }],
  ['mx', { protocol: 'mx', secure: false }],
  ['mxs', { protocol: 'mx', secure: true }],
  ['grpc', { protocol: 'grpc', secure: false }],
  ['grpcs', { protocol: 'grpc', secure: true }],
])
/** Metadata key of {@link NodeSettings.priority}, 0 to 65535. @default 0 */
export const PRIORITY = 'mx/priority'
/** Metadata key of {@link NodeSettings.zone}. @default none */
const ZONE = 'zone'
const MAX_WEIGHT = 1000
const MAX_PIPELINE = 64
const MAX_PRIORITY = 65_535

/** Labels as in RFC 1123 §2.1, plus underscores as used in container networks. */
const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?$/
/** WHATWG URL, "ends in a number checker". */
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[\da-f]*)$/i
const DIGITS = /^[1-9]\d{0,4}$/
/** Recently parsed hosts and zones, which many nodes share. */
const TEXTS = new DirectMappedCache<string>()

/** Splits `host:port` or `[IPv6]:port`. Returns undefined for other texts and for ports outside 1 to 65535. */
export function parseHostPort(address: string): { host: string; port: number } | undefined {
  const colon = address.lastIndexOf(':')
  const port = address.slice(colon + 1)
  let host = address.slice(0, Math.max(colon, 0))
  if (!DIGITS.test(port) || Number(port) > 65_535) return undefined
  if (host.startsWith('[') && host.endsWith(']')) {
    host = host.slice(1, -1)
    return isIPv6(host) ? { host, port: Number(port) } : undefined
  }
  if (!HOST.test(host) || host.includes('..')) return undefined
  // Like every name that ends in a number, 10.0.0.256 is a mistyped address, not a DNS name (WHATWG URL).
  if (ENDS_IN_NUMBER.test(host) && !isIPv4(host)) return undefined
  return { host: toShared(host), port: Number(port) }
}

function toShared(text: string): string {
  const known = TEXTS.get(text)
  if (known !== undefined) return known
  const flat = flattenString(text)
  TEXTS.set(flat, flat)
  return flat
}

/** Parses the address and known metadata of a node, or returns why it is unusable. */
export function parseNode({ address, metadata }: Node): NodeSettings | string {
  const parsed = parseHostPort(address)
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
  const priority = readCount(metadata, PRIORITY, MAX_PRIORITY, 0)
  if (typeof priority === 'string') return priority
  // Other values are ignored, since metadata may contain fields of other programs.
  const draining = readKey(metadata, 'state') === 'draining'
  const resolved = readKey(metadata, RESOLVED) ?? ''
  if (resolved !== '' && !resolved.split(',').every((text) => isIP(text) !== 0))
    return `${RESOLVED} must be IP addresses, got ${JSON.stringify(resolved)}`
  const zone = toShared(readKey(metadata, ZONE) ?? '')
  const { host, port } = parsed
  // Copied field by field: spreading would dominate the cost, and there may be 100 000 nodes.
  const { secure } = known
  const { protocol: kind } = known
  return {
    host,
    port,
    secure,
    protocol: kind,
    weight,
    pipeline,
    priority,
    zone,
    draining,
    resolved,
  }
}

/** True for a node in the `down` state: it is registered, but its program will be restarted. */
export function isOffline({ metadata }: Node): boolean {
  return readKey(metadata, 'state') === 'down'
}

/** Reads a number; the default is `min`. */
function readCount(
  metadata: Node['metadata'],
  key: string,
  max: number,
  min: 0 | 1 = 1,
): number | string {
  const text = readKey(metadata, key) ?? `${min}`
  if (text === `${min}`) return min
  if (DIGITS.test(text) && Number(text) <= max) return Number(text)
  return `${key} must be a whole number from ${min} to ${max}, got ${JSON.stringify(text)}`
}

function readKey(metadata: Node['metadata'], key: string): string | undefined {
  return Object.hasOwn(metadata, key) ? metadata[key] : undefined
}
