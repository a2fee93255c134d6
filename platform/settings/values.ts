import { isIP, isIPv4 } from 'node:net'
import { parseBackend } from '../../adapters/registry/static.ts'
import { createAllowList } from '../../core/egress/allow-list.ts'
import { findWildcardHost } from '../../core/http/wildcard-host.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { parseBalance } from '../../core/upstream/balance/parse-balance.ts'
import { parseServerAddress } from '../../domain/mesh/address.ts'
import { createAddressSet } from '../../lib/net/cidr-set.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { hideSecret } from '../../lib/text/redact-url.ts'
import { parseDuration, parseSize } from '../../lib/text/units.ts'
import { isRegistryText, REGISTRY_FORMS } from '../../sdk/registry/open-registry.ts'

/** Where the gateway listens. */
export interface Address {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

/** Longest span a Node.js timer can wait; stands for `none`. */
const MAX_TIMER_MS = 2 ** 31 - 1
const NAMESPACE = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/i
const ORIGIN =
  /^(?:\*|[a-z][a-z0-9+.-]*:\/\/(?:\*\.)?(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)$/
const HOST_PATTERN = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i
const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/

/**
 * `host:port`, `[ipv6]:port`, or `:port` for all interfaces, IPv4 and IPv6.
 *
 * @throws {RangeError} naming the accepted forms, as every function of this file does.
 */
export function parseAddress(text: string): Address {
  const match = HOST_PORT.exec(text.trim())
  const port = Number(match?.[3])
  if (match === null || port > 65_535) {
    throw wrong('host:port or :port, with a port from 0 to 65535', text)
  }
  if (match[1] !== undefined && isIP(match[1]) !== 6)
    throw wrong('an IPv6 address inside the brackets', text)
  return { host: match[1] ?? (match[2] || findWildcardHost()), port }
}

/** {@link parseAddress}, or `none`: undefined. */
export function parseAddressOrNone(text: string): Address | undefined {
  if (text.trim() === 'none') return undefined
  try {
    return parseAddress(text)
  } catch (error) {
    throw wrong('none, host:port or :port, with a port from 0 to 65535', text, '', error)
  }
}

/** The address as {@link parseAddress} reads it. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Whether only programs of this machine reach it. */
export function isLoopback({ host }: Address): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

export function parseSwitch(text: string): boolean {
  const word = text.trim().toLowerCase()
  if (word === 'true' || word === 'on' || word === 'yes' || word === '1') return true
  if (word === 'false' || word === 'off' || word === 'no' || word === '0') return false
  throw wrong('true or false', text)
}

/** One of `words`. */
export function parseOneOf<T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text.trim())
    if (found !== undefined) return found
    const meant = suggest(text, words)
    throw wrong(
      `one of ${words.join(', ')}`,
      text,
      meant === undefined ? '' : `, did you mean ${meant}?`,
    )
  }
}

/** A whole number of at least `min`. */
export function parseCount(min: number, max: number, or = ''): (text: string) => number {
  return (text) => {
    const count = /^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN
    if (!(count >= min && count <= max))
      throw wrong(`a whole number from ${min} to ${max}${or}`, text)
    return count
  }
}

/** {@link parseCount}, or the word `auto`. */
export function parseCountOrAuto(min: number, max: number): (text: string) => number | 'auto' {
  const parse = parseCount(min, max, ', or auto')
  return (text) => (text.trim() === 'auto' ? 'auto' : parse(text))
}

/** A timeout in milliseconds, at least 1; `none` is the longest a timer can wait, 24 days. */
export function parseTimeout(text: string): number {
  const timeoutMs = parseDuration(text)
  if (timeoutMs < 1) throw wrong('a duration of at least 1ms, or none', text)
  return Math.min(timeoutMs, MAX_TIMER_MS)
}

/** A longest time in milliseconds, at least 1; `none` is `Infinity`. */
export function parseLongest(text: string): number {
  const longestMs = parseDuration(text)
  if (longestMs < 1) throw wrong('a duration of at least 1ms, or none', text)
  return longestMs
}

/** A wait in milliseconds, which ends: there is no `none`. */
export function parseDelay(text: string): number {
  const delayMs = parseDuration(text)
  if (delayMs > MAX_TIMER_MS) throw wrong('a duration of at most 24d, such as 5s', text)
  return delayMs
}

/** Defaults of the dashboard's idle timeout and of the longest life of its sessions. */
export const SESSION_IDLE_TIMEOUT: string = '30m'
export const SESSION_MAX_AGE: string = '12h'

/** A time of the dashboard's sessions in milliseconds: at least a minute, and always finite. */
export function parseSessionTime(text: string): number {
  const timeMs = parseDuration(text)
  if (timeMs < 60_000 || timeMs > MAX_TIMER_MS)
    throw wrong('a duration from 1m to 24d, such as 30m', text)
  return timeMs
}

/** A limit in bytes, at least 1; `none` is `Infinity`. */
export function parseLimit(text: string): number {
  const bytes = parseSize(text)
  if (bytes < 1) throw wrong('a size of at least 1 byte, or none', text)
  return bytes
}

/** {@link parseLimit} of what is to be kept free; none: 0. */
export function parseRoom(text: string): number {
  const bytes = parseLimit(text)
  return Number.isFinite(bytes) ? bytes : 0
}

/** {@link parseLimit}, or the word `auto`. */
export function parseLimitOrAuto(text: string): number | 'auto' {
  return text.trim() === 'auto' ? 'auto' : parseLimit(text)
}

/** A prefix of service names; blanks only: none (specification: Namespace). */
export function parseNamespace(text: string): string {
  const namespace = text.trim()
  if (namespace !== '' && !NAMESPACE.test(namespace)) {
    throw wrong('names joined by dots such as go.mx.api, or a single blank for none', text)
  }
  return namespace
}

/** Networks such as `10.0.0.0/8` or `::1`, and the words `loopback`, `private` and `unix`. */
export function parseNetworks(texts: readonly string[]): readonly string[] {
  withoutSubject('networks', () => createAddressSet(texts, 'networks'))
  return texts
}

/** Networks such as `10.0.0.0/8` or `::1`, and the words `public`, `private`, `loopback` and `link-local`. */
export function parseAllowList(texts: readonly string[]): readonly string[] {
  withoutSubject('networks', () => createAllowList(texts, 'networks'))
  return texts
}

/** Web origins such as `https://app.example.com` or `https://*.example.com`, or `*` for any. */
export function parseOrigins(texts: readonly string[]): readonly string[] {
  for (const text of texts) {
    if (!ORIGIN.test(text))
      throw wrong('an origin such as https://app.example.com (no path), or *', text)
  }
  return texts
}

/** `any`, `same-host`, or web origins besides the same host. */
export function parseWebOrigins(texts: readonly string[]): 'any' | readonly string[] {
  const listed = parseBesides('same-host', texts)
  if (listed === 'any') return listed
  for (const text of listed) {
    if (text === '*' || !ORIGIN.test(text))
      throw wrong('any, same-host, or origins such as https://app.example.com', text)
  }
  return listed
}

/** `any`, `local`, or names of hosts besides this machine. */
export function parseHosts(texts: readonly string[]): 'any' | readonly string[] {
  const listed = parseBesides('local', texts)
  if (listed === 'any') return listed
  for (const text of listed) {
    if (!HOST_PATTERN.test(text))
      throw wrong('any, local, or names such as app.example.com or *.example.com', text)
  }
  return listed
}

/** `any`, or a list besides what a word stands for and which always holds. */
function parseBesides(word: string, texts: readonly string[]): 'any' | readonly string[] {
  return texts.length === 1 && texts[0] === 'any' ? 'any' : texts.filter((text) => text !== word)
}

/** `on`, `off` or the name of a file. */
export function parseAccessLog(text: string): string {
  const word = text.trim().toLowerCase()
  if (word === '') throw wrong('on, off or a file', text)
  if (word === 'on' || word === 'true') return 'on'
  return word === 'off' || word === 'false' ? 'off' : text
}

/** `off`, `any`, or address ranges as in {@link parseNetworks}. */
export function parseClientRanges(texts: readonly string[]): 'any' | readonly string[] {
  if (texts.length === 1 && texts[0] === 'off') return []
  if (texts.length === 1 && texts[0] === 'any') return 'any'
  return parseNetworks(texts)
}

/** A node choice, kept as text: every service gets a balancer of its own. */
export function parseBalancePolicy(text: string): string {
  withoutSubject('balance', () => parseBalance(text))
  return text.trim()
}

/** `none`, or where the RPC proxy of a platform is. */
export function parseAuthSource(text: string): string {
  const word = text.trim()
  const isUrl = /^mxs?:\/\//.test(word) && parseServerAddress(word) !== undefined
  if (word === 'none' || isUrl) return word
  throw wrong('none, mx://host:port or mxs://host:port, with a port from 1 to 65535', text)
}

/** The text of a registry, as `openRegistry` takes it, or `static`. */
export function parseRegistryText(text: string): string {
  const word = text.trim()
  if (word === 'static') return word
  // Told now, with status 2, and not when it is opened.
  if (!checkUrl(() => isRegistryText(word))) {
    const meant = suggest(word, ['static', 'memory', 'kubernetes'])
    throw wrong(
      `static, ${REGISTRY_FORMS}`,
      text,
      meant === undefined ? '' : `, did you mean ${meant}?`,
    )
  }
  return word
}

/** What `check` tells of a URL. @throws {RangeError} with why it cannot be used, behind the name of its setting. */
export function checkUrl<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new RangeError(`cannot be used: ${error.message}`, { cause: error })
  }
}

/** Backends, kept as text: what a name means depends on the namespace. */
export function parseBackends(texts: readonly string[]): readonly string[] {
  for (const text of texts) withoutSubject('backend', () => parseBackend(text, ''))
  return texts
}

export function parseNonEmpty(what: string): (text: string) => string {
  return (text) => {
    if (text.trim() === '') throw wrong(what, text)
    return text
  }
}

function wrong(wanted: string, got: string, hint = '', cause?: unknown): RangeError {
  const detail = `must be ${wanted}, got ${JSON.stringify(hideSecret(got))}${hint}`
  return new RangeError(detail, { cause })
}

/** Runs a check whose message begins with what is wrong; here the reader of the setting says that, more exactly. */
function withoutSubject(subject: string, check: () => unknown): void {
  try {
    check()
  } catch (error) {
    const { message } = error as Error
    throw new RangeError(
      message.startsWith(`${subject} `) ? message.slice(subject.length + 1) : message,
      { cause: error },
    )
  }
}

/** Names of services. @throws {RangeError} */
export function parseServiceNames(texts: readonly string[]): readonly string[] {
  return texts.map((text) => {
    const name = text.trim()
    if (isServiceName(name)) return name
    throw new RangeError(`must be names of services, got ${JSON.stringify(text)}`)
  })
}
