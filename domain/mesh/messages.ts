import { isRecord } from '../../core/registry/decode-service.ts'
import { type Introduction, readIntroduction } from './handshake.ts'
import { MAX_ENTRY_BYTES, MAX_HOPS, MAX_METRIC } from './limits.ts'
import { findServerId, isDestination, isServerId } from './names.ts'
import { readServer, readVersions } from './registry/entry.ts'
import type { AdvertisedRoute } from './routing-table.ts'

/** Update of a destination's route. */
export interface RouteUpdate {
  readonly key: string
  /** Advertised route; undefined if the destination is unreachable. */
  readonly advertised: AdvertisedRoute | undefined
}

/**
 * Messages on a link. The caller, which opened the link, sends `hello`, `proof` and periodic
 * `ping`s. The callee sends `welcome`, a `proof` after a valid proof from the caller, a `pong` for
 * each ping, and `routes`.
 */
export type LinkMessage =
  | { readonly type: 'hello'; readonly introduction: Introduction }
  | { readonly type: 'welcome'; readonly introduction: Introduction }
  | { readonly type: 'proof'; readonly proof: string }
  | { readonly type: 'ping' | 'pong'; readonly n: number }
  | { readonly type: 'routes'; readonly routes: readonly RouteUpdate[] }

/**
 * Parses a message.
 *
 * @throws {TypeError} with the invalid field.
 */
export function readMessage(message: unknown): LinkMessage {
  if (!isRecord(message)) throw new TypeError('message must be an object')
  const { type } = message
  switch (type) {
    case 'hello':
    case 'welcome':
      return { type, introduction: readIntroduction(message) }
    case 'proof':
      return { type, proof: readProof(message) }
    case 'ping':
    case 'pong':
      return { type, n: readNumber(message, 'n', Number.MAX_SAFE_INTEGER) }
    case 'routes': {
      const { routes } = message
      if (!Array.isArray(routes)) throw new TypeError('routes must be a list')
      return { type, routes: routes.map((route, i) => readUpdate(route, `routes[${i}]`)) }
    }
    default:
      throw new TypeError(
        `type must be hello, welcome, proof, ping, pong or routes, got ${JSON.stringify(type)?.slice(0, 100)}`,
      )
  }
}

/** Returns the fields of a `routes` message. */
export function formatUpdate({ key, advertised }: RouteUpdate): object {
  if (advertised === undefined) return { key }
  const { path, metric, entry } = advertised
  return { key, path, metric, entry: JSON.parse(entry) as unknown }
}

function readUpdate(updates: unknown, at: string): RouteUpdate {
  if (!isRecord(updates)) throw new TypeError(`${at} must be an object`)
  const { key, path, entry } = updates
  if (typeof key !== 'string' || !isDestination(key))
    throw new TypeError(`${at}.key must be the name of a service, or @ and the id of a server`)
  if (path === undefined) return { key, advertised: undefined }
  const isPath = Array.isArray(path) && path.length > 0 && path.length <= MAX_HOPS
  if (!isPath || !path.every((id) => typeof id === 'string' && isServerId(id)))
    throw new TypeError(`${at}.path must be 1 to ${MAX_HOPS} ids of servers`)
  if (new Set(path).size < path.length) throw new TypeError(`${at}.path must not contain a loop`)
  const server = findServerId(key)
  if (server !== undefined && path.at(-1) !== server)
    throw new TypeError(`${at}.path must end at the server ${server}`)
  const text =
    server === undefined ? readVersions(entry, `${at}.entry`) : readServer(entry, `${at}.entry`)
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_ENTRY_BYTES)
    throw new TypeError(`${at}.entry must be at most ${MAX_ENTRY_BYTES} bytes, got ${bytes}`)
  const metric = readNumber(updates, 'metric', MAX_METRIC, at)
  return { key, advertised: { path: path as string[], metric, entry: text } }
}

function readProof({ proof }: Readonly<Record<string, unknown>>): string {
  if (typeof proof === 'string') return proof
  throw new TypeError('proof must be a string')
}

function readNumber(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  max: number,
  at = '',
): number {
  const value = fields[name]
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max)
    return value as number
  throw new TypeError(`${at === '' ? '' : `${at}.`}${name} must be a whole number from 0 to ${max}`)
}
