import { isIP, isIPv4 } from 'node:net'
import { findWildcardHost } from '../../../core/http/host/wildcard-host.ts'
import { parseHostPort } from '../../../core/upstream/node/parse-node.ts'
import { parseServerAddress, SERVER_ADDRESS_FORMS } from '../../../domain/mesh/address.ts'
import { MAX_PEERS } from '../../../domain/mesh/limits.ts'
import { list, notAllowed, single } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'

/** Address to listen on. */
export interface Address {
  /** Name or IP address; `unix:` and a path for a Unix socket. */
  readonly host: string
  /** 0: any free port, and for a Unix socket. */
  readonly port: number
}

/** Address under which others reach a server. */
export interface Advertised {
  /** Name or IP address, without brackets. */
  readonly host: string
  /** Undefined: port of the listener. */
  readonly port: number | undefined
}

const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/
const ALLOWED = 'host:port or :port, with a port from 0 to 65535'
const UNIX = 'unix:'
const GATEWAY_ALLOWED = `${ALLOWED}, or unix:/path`
/** `sun_path` of Linux and macOS without the final zero byte, the shorter of both. */
const UNIX_PATH_MAX = 103

/**
 * Parses `host:port`, `[ipv6]:port`, or `:port` for all interfaces, IPv4 and IPv6.
 *
 * @throws {RangeError} with the accepted forms.
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
 * {@link parseBindAddress}, or `unix:/path`.
 *
 * @throws {RangeError} with the accepted forms.
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

/** Path of a Unix socket; undefined for other addresses. */
export function toSocketPath({ host }: Address): string | undefined {
  return host.startsWith(UNIX) ? host.slice(UNIX.length) : undefined
}

/** The address as {@link parseGatewayAddress} reads it. */
export function formatAddress({ host, port }: Address): string {
  if (host.startsWith(UNIX)) return host
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Whether only programs of this machine reach it. */
export function isLoopback({ host }: Address): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** Address to listen on. */
export const LISTEN_ADDRESS: ValueType<Address> = single('host:port', ALLOWED, parseBindAddress)

/** {@link LISTEN_ADDRESS}, or a Unix socket. */
export const GATEWAY_ADDRESS: ValueType<Address> = single(
  'host:port or unix:/path',
  GATEWAY_ALLOWED,
  parseGatewayAddress,
)

/** {@link LISTEN_ADDRESS}, or `none`: undefined. */
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

/** A host with or without a port; empty: undefined. */
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

/** RPC proxies of servers, each as `mx://host:port` or `mxs://host:port`. */
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

/** `none`, or the RPC proxy of a platform, `mx://host:port`. */
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
