import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import { parseIpAddress, parseRange, type Range } from '../../lib/net/cidr-set.ts'
import { type AddressKind, findKind } from './address-kind.ts'

/** An IP address and its kind. */
export interface ClassifiedAddress {
  readonly ip: ipaddr.IPv4 | ipaddr.IPv6
  /** Canonical text: compressed IPv6, and IPv4 for an IPv4-mapped IPv6 address. */
  readonly text: string
  readonly kind: AddressKind
}

/** Addresses that an operator allows. */
export interface AllowList {
  readonly has: (address: ClassifiedAddress) => boolean
}

/**
 * Address kinds by keyword. `loopback` includes other addresses of this machine because they reach the same programs.
 */
const WORDS: ReadonlyMap<string, readonly AddressKind[]> = new Map([
  ['public', ['public']],
  ['private', ['private']],
  ['loopback', ['loopback', 'this server']],
  ['link-local', ['link-local']],
])
/** Kinds that a wider range does not allow: `0.0.0.0/0` and `10.0.0.0/8` refer to other machines. */
const SENSITIVE: ReadonlySet<AddressKind> = new Set([
  'loopback',
  'this server',
  'link-local',
  'cloud metadata',
])
/** Kinds that are never valid server addresses. */
const NEVER: ReadonlySet<AddressKind> = new Set(['unspecified', 'multicast', 'reserved'])

/** Parses an IP address in the usual notation; undefined for anything else, including host names. */
export function classify(text: string): ClassifiedAddress | undefined {
  const ip = parseIpAddress(text)
  if (ip === undefined) return undefined
  const kind = findKind(ip)
  const canonical = ip.toString()
  const isLocal = (kind === 'private' || kind === 'public') && listLocalAddresses().has(canonical)
  return { ip, text: canonical, kind: isLocal ? 'this server' : kind }
}

/** Whether addresses of this kind can never be allowed. */
export function isNeverAllowed(kind: AddressKind): boolean {
  return NEVER.has(kind)
}

/**
 * Creates an allow list from address ranges and the keywords `public`, `private`, `loopback` and `link-local`.
 *
 * Loopback, link-local, metadata and interface addresses require a keyword or a range that starts with such an address:
 * `127.0.0.0/8` allows loopback, `0.0.0.0/0` does not.
 *
 * @param setting name of the setting, for errors.
 * @throws {RangeError} with the first malformed range.
 */
export function createAllowList(ranges: readonly string[], setting: string): AllowList {
  const kinds = new Set(ranges.flatMap((range) => WORDS.get(range) ?? []))
  const parsed = ranges
    .filter((range) => !WORDS.has(range))
    .map((text) => parseRange(text, setting, [...WORDS.keys()]))
  return {
    has({ ip, kind }) {
      if (NEVER.has(kind)) return false
      if (kinds.has(kind)) return true
      return parsed.some(
        (range) =>
          isInside(ip, range) &&
          // Classified at each check because addresses of the machine change.
          (!SENSITIVE.has(kind) || kind === classify(range[0].toString())?.kind),
      )
    },
  }
}

function isInside(ip: ipaddr.IPv4 | ipaddr.IPv6, [base, bits]: Range): boolean {
  return base.kind() === ip.kind() && ip.match(base, bits)
}

/**
 * Cache time: reading the interfaces takes about 50 µs, and thousands of services may renew their registrations per
 * second.
 */
const LOCAL_ADDRESSES_MS = 1000
let localAddresses: ReadonlySet<string> = new Set()
let localAddressesUntilMs = 0

/** Returns the addresses of the machine's network interfaces, at most a second old. */
function listLocalAddresses(): ReadonlySet<string> {
  const nowMs = performance.now()
  if (nowMs < localAddressesUntilMs) return localAddresses
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  localAddresses = new Set(all.map(({ address }) => ipaddr.process(address).toString()))
  localAddressesUntilMs = nowMs + LOCAL_ADDRESSES_MS
  return localAddresses
}
