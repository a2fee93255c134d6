import ipaddr from 'ipaddr.js'

/** Cached result for an address. */
export interface KnownAddress {
  /** Canonical text: compressed IPv6, and IPv4 for IPv4-mapped IPv6; empty if it is not an IP address. */
  readonly address: string
  /** Whether one of the ranges contains it. */
  readonly inside: boolean
  /**
   * Node identifier for `Forwarded` (RFC 7239 §6): IPv6 in brackets and quotes; `unknown` if it is not an IP address.
   */
  readonly node: string
}

/** Ranges of IP addresses, with a cache for repeated lookups. */
export interface CidrSet {
  readonly lookup: (address: string) => KnownAddress
}

/** First address of a range, and its prefix length. */
export type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Keywords for common ranges (RFC 1122 §3.2.1.3, RFC 1918, RFC 3927, RFC 4193, RFC 4291). */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  private: [
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '169.254.0.0/16',
    'fc00::/7',
    'fe80::/10',
  ],
}

/** Default maximum number of cached addresses (at most 2 MB), above which the cache is cleared. */
const MAX_CACHED = 10_000

/**
 * Creates a set from `10.0.0.0/8`, `192.0.2.7`, `2001:db8::/32`, `loopback`, `private`, or `unix` for peers of a Unix
 * socket, which have no address.
 *
 * @param label option name for errors.
 * @param maxCached maximum number of cached addresses.
 * @throws {RangeError} if a range is malformed.
 */
export function createCidrSet(
  ranges: readonly string[],
  label: string,
  maxCached: number = MAX_CACHED,
): CidrSet {
  const parsed = ranges
    .filter((range) => range !== 'unix')
    .flatMap((range) => (WORDS[range] ?? [range]).map((text) => parseRange(text, label)))
  const unix: KnownAddress = { address: '', inside: ranges.includes('unix'), node: 'unknown' }
  const cache = new Map<string, KnownAddress>()
  return {
    lookup(address) {
      const cached = cache.get(address)
      if (cached !== undefined) return cached
      const result = address === '' ? unix : classify(address, parsed)
      if (cache.size >= maxCached) cache.clear()
      cache.set(address, result)
      return result
    },
  }
}

/** Whether one of the ranges contains all addresses of `inner`. Accepts the same keywords as {@link createCidrSet}. */
export function containsRange(ranges: readonly string[], inner: string): boolean {
  if (inner === 'unix') return ranges.includes(inner)
  const outer = ranges.filter((range) => range !== 'unix').flatMap(toRanges)
  return toRanges(inner).every(([base, bits]) =>
    outer.some(
      ([first, most]) => first.kind() === base.kind() && most <= bits && base.match(first, most),
    ),
  )
}

function toRanges(text: string): Range[] {
  return (WORDS[text] ?? [text]).map((range) => parseRange(range, 'range'))
}

/**
 * Parses an IP address, ignoring the port that some proxies add (`192.0.2.7:4711`, `[2001:db8::1]:4711`). Returns
 * undefined for other text.
 */
export function parseIpAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  let bare = text.trim()
  if (bare.startsWith('[')) bare = bare.slice(1, bare.indexOf(']'))
  else if (bare.indexOf(':') === bare.lastIndexOf(':') && bare.includes('.'))
    bare = bare.split(':')[0]!
  // Only the usual notation, since ipaddr.js also reads octal, hexadecimal and shortened IPv4.
  if (!ipaddr.IPv4.isValidFourPartDecimal(bare) && !ipaddr.IPv6.isValid(bare)) return undefined
  return ipaddr.process(bare)
}

function classify(text: string, ranges: readonly Range[]): KnownAddress {
  const parsed = parseIpAddress(text)
  if (parsed === undefined) return { address: '', inside: false, node: 'unknown' }
  const address = parsed.toString()
  const inside = ranges.some(
    ([base, bits]) => base.kind() === parsed.kind() && parsed.match(base, bits),
  )
  return { address, inside, node: parsed.kind() === 'ipv6' ? `"[${address}]"` : address }
}

/**
 * Parses an address, or a range such as `10.0.0.0/8`.
 *
 * @param label option name for errors.
 * @param words keywords that the option also accepts, for errors.
 * @throws {RangeError} for other text.
 */
export function parseRange(
  text: string,
  label: string,
  words: readonly string[] = ['loopback', 'private', 'unix'],
): Range {
  const slash = text.indexOf('/')
  const base = parseIpAddress(slash === -1 ? text : text.slice(0, slash))
  const most = base?.kind() === 'ipv6' ? 128 : 32
  const bits = slash === -1 ? most : Number(text.slice(slash + 1) || Number.NaN)
  if (base === undefined || hasPort(text) || !Number.isInteger(bits) || bits < 0 || bits > most) {
    throw new RangeError(
      `${label} must be address ranges such as 10.0.0.0/8, 2001:db8::/32, ${words.slice(0, -1).join(', ')} or ${words.at(-1)}, got ${JSON.stringify(text)}`,
    )
  }
  return [base, bits]
}

/** Ports are rejected, because ignoring a port would allow more than the setting states. */
function hasPort(text: string): boolean {
  return text.includes(']:') || /^[^:]+:\d*$/.test(text)
}
