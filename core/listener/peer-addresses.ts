import type { Socket } from 'node:net'

/**
 * Common peer address of all open connections of a listener, usually the address of a proxy or load balancer.
 * Querying the address of a request is a system call that costs as much as all plugins together, and the library does
 * not expose the connection of a request.
 */
export class PeerAddresses {
  /** Undefined if connections have different addresses, in which case each request must query its address. */
  only: string | undefined = undefined
  #open = 0

  opened(bytes: ArrayBuffer): void {
    const address = toAddress(bytes)
    if (this.#open++ === 0) this.only = address
    else if (address !== this.only) this.only = undefined
  }

  closed(): void {
    this.#open--
  }
}

/** Cached texts of recent IPv4 addresses; formatting costs more than a lookup. */
const ipv4 = new Map<number, string>()
const IPV4_MAX = 4096

/** Formats an address: compressed IPv6 (RFC 5952), and IPv4-mapped addresses as IPv4. */
export function toAddress(bytes: ArrayBuffer): string {
  const view = new DataView(bytes)
  if (bytes.byteLength === 4) return toIPv4(view.getUint32(0))
  if (bytes.byteLength !== 16) return ''
  const isMapped =
    view.getUint32(0) === 0 && view.getUint32(4) === 0 && view.getUint32(8) === 0xffff
  if (isMapped) return toIPv4(view.getUint32(12))
  const groups = Array.from({ length: 8 }, (_, i) => view.getUint16(i * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function toIPv4(number: number): string {
  let text = ipv4.get(number)
  if (text === undefined) {
    if (ipv4.size >= IPV4_MAX) ipv4.clear()
    text = `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`
    ipv4.set(number, text)
  }
  return text
}

/** Returns the peer address of a socket, with IPv4-mapped addresses as IPv4; empty for a Unix socket. */
export function readPeerAddress({ remoteAddress = '' }: Socket): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, '')
}
