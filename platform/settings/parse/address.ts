import { isIP, isIPv4 } from 'node:net'
import { findWildcardHost } from '../../../core/http/host/wildcard-host.ts'
import { parseHostPort } from '../../../core/upstream/node/parse-node.ts'
import { parseServerAddress, SERVER_ADDRESS_FORMS } from '../../../domain/mesh/address.ts'
import { MAX_PEERS } from '../../../domain/mesh/limits.ts'
import { list, notAllowed, single } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'

/** Address to listen on. */
export interface Address {
  /** Host name or IP address. For a Unix socket, `unix:` followed by its path. */
  readonly host: string
  /** Port number. 0 means any free port, or a Unix socket. */
  readonly port: number
}

/** Address at which other machines reach a server. */
export interface Advertised {
  /** Host name or IP address without brackets. */
  readonly host: string
  /** Port number; the listener's port if undefined. */
  readonly port: number | undefined
}

const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/
const ALLOWED = 'host:port or :port, with a port from 0 to 65535'
const UNIX = 'unix:'
const GATEWAY_ALLOWED = `${ALLOWED}, or unix:/path`
/**
 * Maximum length of `sun_path` on Linux and macOS, whichever is shorter, without the final zero
 * byte.
 */
const UNIX_PATH_MAX = 103

/**
 * Parses `host:port` or `[ipv6]:port`, or `:port` for all IPv4 and IPv6 interfaces.
 *
 * @throws {RangeError} listing the valid forms.
 */
export function parseBindAddress(text: string): Address {
  const match = HOST_PORT.exec(text.trim())
  const port = Number(match?.[3])
  if (match === null || port > 65_535) throw notAllowed(ALLOWED, text)
  if (match[1] !== undefined && isIP(match[1]) !== 6)
    throw notAllowed('an IPv6 address inside the brackets', text)
  return { host: match[1] ?? (match[2] || findWildcardHost()), port }
}

/**
 * Parses `unix:/path` or an address accepted by {@link parseBindAddress}.
 *
 * @throws {RangeError} listing the valid forms.
 */
export function parseGatewayAddress(text: string): Address {
  const trimmed = text.trim()
  if (!trimmed.startsWith(UNIX)) {
    try {
      return parseBindAddress(text)
    } catch (error) {
      throw (error as Error).message.includes(ALLOWED) ? notAllowed(GATEWAY_ALLOWED, text) : error
    }
  }
  if (!/^\/[^\0]*[^/\0]$/.test(trimmed.slice(UNIX.length)))
    throw notAllowed('unix: and an absolute path such as unix:/run/mx.sock', text)
  if (Buffer.byteLength(trimmed) - UNIX.length > UNIX_PATH_MAX)
    throw notAllowed(`a path of at most ${UNIX_PATH_MAX} bytes`, text)
  return { host: trimmed, port: 0 }
}

/** Returns the path of a Unix socket, or undefined for other addresses. */
export function toSocketPath({ host }: Address): string | undefined {
  return host.startsWith(UNIX) ? host.slice(UNIX.length) : undefined
}

/** Formats an address so that {@link parseGatewayAddress} can parse it. */
export function formatAddress({ host, port }: Address): string {
  if (host.startsWith(UNIX)) return host
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Returns whether only programs on this machine can reach the address. */
export function isLoopback({ host }: Address): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** Address to listen on. */
export const LISTEN_ADDRESS: ValueType<Address> = single('host:port', ALLOWED, parseBindAddress)

/** {@link LISTEN_ADDRESS} or a Unix socket. */
export const GATEWAY_ADDRESS: ValueType<Address> = single(
  'host:port or unix:/path',
  GATEWAY_ALLOWED,
  parseGatewayAddress,
)

/** {@link LISTEN_ADDRESS}, or undefined for `none`. */
export const LISTEN_ADDRESS_OR_NONE: ValueType<Address | undefined> = single(
  'host:port or none',
  `none, ${ALLOWED}`,
  (text, reject) => {
    if (text.trim() === 'none') return undefined
    try {
      return parseBindAddress(text)
    } catch (error) {
      throw reject('', error)
    }
  },
)

/** A host with or without a port; undefined if empty. */
export const ADVERTISED_ADDRESS: ValueType<Advertised | undefined> = single(
  'host or host:port',
  'host or host:port, IPv6 addresses in brackets',
  (text, reject) => {
    const trimmed = text.trim()
    if (trimmed === '') return undefined
    const address = parseHostPort(trimmed)
    if (address !== undefined) return address
    const portless = parseHostPort(`${trimmed}:1`)
    if (portless !== undefined) return { host: portless.host, port: undefined }
    throw reject()
  },
)

/** RPC proxies of servers, each `mx://host:port` or `mxs://host:port`. */
export const SERVER_ADDRESSES: ValueType<readonly string[]> = list(
  'host:port,...',
  SERVER_ADDRESS_FORMS,
  (texts) => {
    if (texts.length > MAX_PEERS)
      throw new RangeError(`must be at most ${MAX_PEERS} servers, got ${texts.length}`)
    return texts.map((text) => {
      const address = parseServerAddress(text)
      if (address === undefined) throw notAllowed(SERVER_ADDRESS_FORMS, text)
      return address.text
    })
  },
)

/** `none`, or the RPC proxy of a platform as `mx://host:port`. */
export const AUTH_SOURCE: ValueType<string> = single(
  'none or url',
  'none, mx://host:port or mxs://host:port, with a port from 1 to 65535',
  (text, reject) => {
    const word = text.trim()
    const isUrl = /^mxs?:\/\//.test(word) && parseServerAddress(word) !== undefined
    if (word !== 'none' && !isUrl) throw reject()
    return word
  },
)
