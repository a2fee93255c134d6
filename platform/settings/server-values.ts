import { createPrivateKey } from 'node:crypto'
import { NATS_FORM, parseNatsUrl } from '../../adapters/nats/url.ts'
import { parsePostgresUrl } from '../../adapters/store/postgres/client/url.ts'
import { parseAddress } from '../../core/upstream/parse-node.ts'
import { parseServerAddress, SERVER_ADDRESS_FORMS } from '../../domain/mesh/address.ts'
import { isNetworkName } from '../../domain/mesh/handshake.ts'
import { MAX_PEERS } from '../../domain/mesh/limits.ts'
import { isServerId } from '../../domain/mesh/names.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { hideSecret } from '../../lib/text/redact-url.ts'
import { parseSecretKey } from '../../services/config/secrets/secret-key.ts'
import { checkUrl } from './values.ts'

/** Where others reach a server. */
export interface Advertised {
  /** Name or IP address, without brackets. */
  readonly host: string
  /** Undefined: that of the listener. */
  readonly port: number | undefined
}

/** As the service auth takes them. */
const PASSWORD_MAX = 1024
const NETWORK_TOKEN_MIN = 16
const NATS = /^(?:nats|tls):/

/** What names a store, for help and errors. */
export const STORE_FORMS = 'memory, lmdb (a file) or postgres://user@host:port/database'

/** What names a broker, for help and errors. */
export const BROKER_FORMS: string = `memory (this process) or ${NATS_FORM}`

/** What names what keeps events, for help and errors. */
export const EVENTS_FORMS: string = `memory, lmdb (a file) or ${NATS_FORM} (JetStream)`

/**
 * The text of a store: `memory`, `lmdb`, or the URL of a PostgreSQL server.
 *
 * @throws {RangeError} naming what would be right.
 */
export function parseStoreText(text: string): string {
  return parsePart(text, ['memory', 'lmdb'], STORE_FORMS, /^postgres(?:ql)?:/, parsePostgresUrl)
}

/** The text of a broker: `memory`, or the URL of a server of NATS. @throws {RangeError} */
export function parseBrokerText(text: string): string {
  return parsePart(text, ['memory'], BROKER_FORMS, NATS, parseNatsUrl)
}

/** The text of what keeps events: `memory`, `lmdb`, or the URL of a server of NATS. @throws {RangeError} */
export function parseEventsText(text: string): string {
  return parsePart(text, ['memory', 'lmdb'], EVENTS_FORMS, NATS, parseNatsUrl)
}

/** `host` or `host:port`; empty: none. @throws {RangeError} */
export function parseAdvertised(text: string): Advertised | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const address = parseAddress(trimmed)
  if (address !== undefined) return address
  const alone = parseAddress(`${trimmed}:1`)
  if (alone !== undefined) return { host: alone.host, port: undefined }
  throw new RangeError(
    `must be host or host:port, IPv6 addresses in brackets, got ${JSON.stringify(hideSecret(text))}`,
  )
}

/** `file`, `memory`, or a key; empty: none. @throws {RangeError} without the text. */
export function parseKeySource(text: string): string {
  const trimmed = text.trim()
  return trimmed === 'file' || trimmed === 'memory' ? trimmed : parsePreviousKey(trimmed)
}

/** A key; empty: none. @throws {RangeError} without the text. */
export function parsePreviousKey(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  try {
    parseSecretKey(trimmed, '')
  } catch (error) {
    throw new RangeError((error as Error).message.trim(), { cause: error })
  }
  return trimmed
}

/** Token of the network; empty: none. @throws {RangeError} without the text. */
export function parseNetworkToken(text: string): string {
  const token = text.trim()
  // A client that opens a link gets a proof of the server, and can test guesses against it without a limit.
  if (token !== '' && token.length < NETWORK_TOKEN_MIN)
    throw new RangeError(
      `must have at least ${NETWORK_TOKEN_MIN} characters, such as openssl rand -base64 32 prints, got ${token.length}`,
    )
  return token
}

/** A password; empty: none. @throws {RangeError} without the text. */
export function parsePassword(text: string): string {
  const trimmed = text.trim()
  if (trimmed.length <= PASSWORD_MAX) return trimmed
  throw new RangeError(`must be at most ${PASSWORD_MAX} characters, got ${trimmed.length}`)
}

/** An Ed25519 key, as PEM; empty: none. @throws {RangeError} without the text. */
export function parsePrivateKey(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  const pem = trimmed.startsWith('-----')
    ? trimmed.replaceAll('\\n', '\n')
    : Buffer.from(trimmed, 'base64').toString()
  let type: string | undefined
  try {
    type = createPrivateKey(pem).asymmetricKeyType
  } catch {
    // Told below; the reason may quote the text.
  }
  if (type === 'ed25519') return pem
  const got = type === undefined ? 'something that is none' : `a key of type ${type}`
  throw new RangeError(
    `must be an Ed25519 key in PEM, as \`openssl genpkey -algorithm ed25519\` makes them, got ${got}`,
  )
}

/** Addresses of the RPC proxies of servers, each as `mx://host:port` or `mxs://host:port`. @throws {RangeError} */
export function parseServerAddresses(texts: readonly string[]): readonly string[] {
  if (texts.length > MAX_PEERS)
    throw new RangeError(`must be at most ${MAX_PEERS} servers, got ${texts.length}`)
  return texts.map((text) => {
    const address = parseServerAddress(text)
    if (address !== undefined) return address.text
    const shown = JSON.stringify(hideSecret(text))
    throw new RangeError(`must be ${SERVER_ADDRESS_FORMS}, got ${shown}`)
  })
}

/** @throws {RangeError} */
export function parseNetworkName(text: string): string {
  const trimmed = text.trim()
  if (isNetworkName(trimmed)) return trimmed
  throw new RangeError(`must be 1 to 253 visible ASCII characters, got ${JSON.stringify(text)}`)
}

/** A number of cores such as 0.5; 0 or `none`: none. @throws {RangeError} */
export function parseCores(text: string): number {
  const trimmed = text.trim()
  const cores = /^[0-9]{1,4}(?:\.[0-9]{1,3})?$/.test(trimmed) ? Number(trimmed) : Number.NaN
  if (trimmed === 'none') return 0
  if (cores <= 1024) return cores
  throw new RangeError(
    `must be a number of cores from 0 to 1024 such as 0.5, or none, got ${JSON.stringify(text)}`,
  )
}

/** Id of a server; empty: none. @throws {RangeError} */
export function parseServerId(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '' || isServerId(trimmed)) return trimmed
  throw new RangeError(
    `must be 1 to 100 letters, digits, and inner dots, dashes or underscores, got ${JSON.stringify(text)}`,
  )
}

/** One of `words`, or a URL that `parseUrl` takes. */
function parsePart(
  text: string,
  words: readonly string[],
  forms: string,
  scheme: RegExp,
  parseUrl: (text: string) => unknown,
): string {
  const trimmed = text.trim()
  if (words.includes(trimmed)) return trimmed
  if (scheme.test(trimmed)) {
    checkUrl(() => parseUrl(trimmed))
    return trimmed
  }
  const meant = suggest(trimmed, words)
  const hint = meant === undefined ? '' : `, did you mean ${meant}?`
  throw new RangeError(`must be ${forms}, got ${JSON.stringify(hideSecret(text))}${hint}`)
}
