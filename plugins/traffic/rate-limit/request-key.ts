import { hash } from 'node:crypto'
import type { Exchange } from '../../../core/exchange.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { toHostName } from '../../../core/http/host/host-name.ts'
import { toNetwork } from '../../../core/limits/client-network.ts'
import { toCanonicalPath } from '../../../core/path/canonical.ts'

/** Returns the key by which a request is counted. */
export type ToKey = (x: Exchange) => string

/** Longer values are hashed, so that the memory of a key is bounded. */
const VALUE_MAX = 128
const SEPARATOR = '\n'
const HEADER = 'header:'

const PARTS: Readonly<Record<string, ToKey>> = {
  ip: toClient,
  // Anonymous callers use the client address, so that logging out does not circumvent a limit.
  account: toCaller,
  // Callers without an API key use the account, so that a token does not circumvent a limit of all keys.
  api_key: (x) => (x.account?.apiKey === undefined ? toCaller(x) : `key ${x.account.apiKey}`),
  // Backends accept other spellings of a path and host, too.
  path: (x) => toCanonicalPath(x.path).replace(/(?<=.)\/$/, ''),
  host: (x) => toHostName(x.host),
  method: (x) => x.method,
}

/** Whether a key depends on the credentials of the caller. */
export function needsAccount(parts: readonly string[]): boolean {
  return parts.includes('account') || parts.includes('api_key')
}

/**
 * Compiles the parts of a key: `ip`, `account`, `api_key`, `path`, `host`, `method`, `header:<name>`.
 *
 * @throws {TypeError} if a part is unknown or listed twice, or a header name is malformed.
 */
export function compileKey(parts: readonly string[]): ToKey {
  if (new Set(parts).size < parts.length) throw new TypeError('key: a part is listed twice')
  const compiled = parts.map(compilePart)
  const [first] = compiled
  if (compiled.length === 1) return (x) => bound(first!(x))
  return (x) => compiled.map((part) => bound(part(x))).join(SEPARATOR)
}

function compilePart(part: string): ToKey {
  if (part.startsWith(HEADER)) {
    const name = part.slice(HEADER.length).toLowerCase()
    try {
      new HeaderList([name, ''])
    } catch (error) {
      throw new TypeError(`key: ${(error as Error).message}`, { cause: error })
    }
    return ({ headers }) => headers.get(name) ?? ''
  }
  const known = Object.hasOwn(PARTS, part) ? PARTS[part] : undefined
  if (known !== undefined) return known
  throw new TypeError(
    `key must be ${Object.keys(PARTS).join(', ')} or header:<name>, got ${JSON.stringify(part)}`,
  )
}

function toCaller(x: Exchange): string {
  return x.account === undefined ? toClient(x) : `${x.account.issuer}/${x.account.id}`
}

/** Unknown clients behind a proxy share the key of its address: any client can claim to be relayed. */
function toClient({ clientAddress, remoteAddress, relayed }: Exchange): string {
  return toNetwork(relayed ? remoteAddress : clientAddress)
}

function bound(value: string): string {
  return value.length > VALUE_MAX ? hash('sha256', value, 'base64') : value
}
