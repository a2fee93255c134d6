import ipaddr from 'ipaddr.js'

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/**
 * Kind of an IP address. `this server`: an address of a network interface of this machine. `cloud metadata`: an address
 * outside the link-local range at which clouds serve credentials.
 */
export type AddressKind =
  | 'public'
  | 'private'
  | 'this server'
  | 'loopback'
  | 'link-local'
  | 'cloud metadata'
  | 'unspecified'
  | 'multicast'
  | 'reserved'

const RANGES: readonly (readonly [AddressKind, readonly string[]])[] = [
  // RFC 1122 §3.2.1.3: the whole block refers to this host.
  ['unspecified', ['0.0.0.0/8', '::/128']],
  ['loopback', ['127.0.0.0/8', '::1/128']],
  // RFC 3927, RFC 4291 §2.5.6; 169.254.169.254 serves the metadata of most clouds.
  ['link-local', ['169.254.0.0/16', 'fe80::/10']],
  // Alibaba Cloud, Azure, AWS, Google Cloud.
  [
    'cloud metadata',
    ['100.100.100.200/32', '168.63.129.16/32', 'fd00:ec2::254/128', 'fd20:ce::254/128'],
  ],
  ['multicast', ['224.0.0.0/4', 'ff00::/8']],
  // RFC 1112 §4, the broadcast address included; RFC 6890: protocol assignments.
  ['reserved', ['240.0.0.0/4', '192.0.0.0/24']],
  // RFC 1918, RFC 6598, RFC 4193, RFC 3879.
  [
    'private',
    ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7', 'fec0::/10'],
  ],
]

const KINDS = RANGES.flatMap(([kind, ranges]) =>
  ranges.map((range) => [kind, ipaddr.parseCIDR(range)] as const),
)

/**
 * Returns the kind of an address. An IPv6 address with an embedded IPv4 address has the kind of the IPv4 address:
 * mapped and compatible (RFC 4291 §2.5.5), SIIT (RFC 7915), NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056), Teredo
 * (RFC 4380), ISATAP (RFC 5214).
 */
export function findKind(address: IpAddress): AddressKind {
  const outer = findPlainKind(address)
  if (outer !== 'public' || address.kind() === 'ipv4') return outer
  const kinds = listEmbedded(address.toByteArray()).map((embedded) => findPlainKind(embedded))
  return kinds.find((kind) => kind !== 'public') ?? outer
}

function findPlainKind(address: IpAddress): AddressKind {
  const match = KINDS.find(
    ([, [base, bits]]) => base.kind() === address.kind() && address.match(base, bits),
  )
  return match?.[0] ?? 'public'
}

/** IPv4 addresses that may be embedded in an IPv6 address. */
function listEmbedded(bytes: readonly number[]): ipaddr.IPv4[] {
  const at = (...indexes: number[]): ipaddr.IPv4 => new ipaddr.IPv4(indexes.map((i) => bytes[i]!))
  const startsWith = (...prefix: number[]): boolean => prefix.every((byte, i) => bytes[i] === byte)
  const last = at(12, 13, 14, 15)
  const isInterface = bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
  const embedded: ipaddr.IPv4[] = []
  // ::/80 contains the mapped, compatible and SIIT forms.
  if (startsWith(0, 0, 0, 0, 0, 0, 0, 0) || isInterface) embedded.push(last)
  // With a 48-bit prefix, the address surrounds octet 8 and is followed by zeros (RFC 6052 §2.2).
  const isShort = bytes[5] === 1 && bytes.slice(11).every((byte) => byte === 0)
  if (startsWith(0, 0x64, 0xff, 0x9b)) embedded.push(isShort ? at(6, 7, 9, 10) : last)
  if (startsWith(0x20, 0x02)) embedded.push(at(2, 3, 4, 5))
  if (startsWith(0x20, 0x01, 0, 0)) {
    const client = [12, 13, 14, 15].map((i) => bytes[i]! ^ 0xff)
    embedded.push(at(4, 5, 6, 7), new ipaddr.IPv4(client))
  }
  return embedded
}
