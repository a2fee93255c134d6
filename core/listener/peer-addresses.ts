import type { Socket } from 'node:net'

/**
 * The address that all open connections of a listener come from, while it is the same one:
 * that of the proxy or load balancer in front, mostly. Asking for a request's address is a
 * system call, as dear as all that plugins do; the library tells requests of one connection
 * from those of another in no other way.
 */
export class PeerAddresses {
  /** Undefined while there are several: then each request must be asked about. */
  sole: string | undefined = undefined
  #open = 0

  opened(bytes: ArrayBuffer): void {
    const address = toAddress(bytes)
    if (this.#open++ === 0) this.sole = address
    else if (address !== this.sole) this.sole = undefined
  }

  closed(): void {
    this.#open--
  }
}

/** Texts of IPv4 addresses seen lately: clients come back, and making the text costs more than finding it. */
const ipv4 = new Map<number, string>()
const IPV4_MAX = 4096

/** The address as text, IPv6 in its short form (RFC 5952), mapped IPv4 as IPv4. */
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

/** The address of a socket's other end, mapped IPv4 as IPv4; empty for a Unix socket. */
export function readPeerAddress({ remoteAddress = '' }: Socket): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, '')
}
