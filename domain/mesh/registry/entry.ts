import type { Node, Service } from '../../../core/contracts/registry.ts'
import { isRecord, readEndpoint, readMap } from '../../../core/registry/decode-service.ts'
import { isEntryText } from '../../../core/registry/service.ts'
import { isServerAddress } from '../address.ts'
import { MAX_PEERS } from '../limits.ts'
import { isServerId, isShared } from '../names.ts'

/** Entry of a server: its address, and the ids of the servers that it can call. */
export interface ServerEntry {
  readonly address: string
  readonly peers: readonly string[]
}

/**
 * Returns whether peers can call a service: a version declares endpoints, or has a node with the
 * call protocol. The RPC proxy cannot forward plain HTTP.
 */
export function isCallable(versions: readonly Service[]): boolean {
  const [first] = versions
  if (first === undefined || !isShared(first.name)) return false
  return versions.some(
    ({ endpoints, nodes }) =>
      endpoints.length > 0 || nodes.some(({ metadata }) => metadata['protocol']?.startsWith('mx')),
  )
}

/** Formats the entry of a service: its versions without nodes, which other servers do not need. */
export function formatVersions(versions: readonly Service[]): string {
  const sorted = [...versions].sort((a, b) => (a.version < b.version ? -1 : 1))
  return JSON.stringify(
    sorted.map(({ version, metadata, endpoints }) => ({ version, metadata, endpoints })),
  )
}

/**
 * Serializes the routes of a service for {@link parseRoutes}: its versions with the endpoints that
 * declare a path, without descriptions.
 */
export function toRoutes(versions: readonly Service[]): readonly object[] {
  return versions.map(({ version, metadata, endpoints }) => ({
    version,
    metadata,
    endpoints: endpoints
      .filter(({ metadata }) => metadata['path'] !== undefined)
      .map(({ name, metadata }) => ({ name, metadata })),
  }))
}

/** Parses versions without nodes. @throws {TypeError} with the invalid part. */
export function parseRoutes(name: string, routes: unknown): Service[] {
  return parseVersions(name, readVersions(routes, name), [])
}

/**
 * Parses the versions of an entry created by {@link formatVersions} or {@link readVersions}, and
 * adds these nodes.
 */
export function parseVersions(name: string, entry: string, nodes: readonly Node[]): Service[] {
  const versions = JSON.parse(entry) as Pick<Service, 'version' | 'metadata' | 'endpoints'>[]
  return versions.map((version) => ({ name, ...version, nodes }))
}

/**
 * Parses a received entry of a service.
 *
 * @param path path of the value, for error messages.
 * @throws {TypeError} with the invalid field.
 */
export function readVersions(value: unknown, path: string): string {
  if (!Array.isArray(value) || value.length === 0) throw wrong(path, 'must be a list of versions')
  const seen = new Set<string>()
  const versions = value.map((item: unknown, i) => {
    const at = `${path}[${i}]`
    if (!isRecord(item)) throw wrong(at, 'must be an object')
    const { version, endpoints } = item
    if (typeof version !== 'string' || !isEntryText(version) || seen.has(version))
      throw wrong(`${at}.version`, 'must be unique, 1 to 253 visible ASCII characters')
    seen.add(version)
    if (!Array.isArray(endpoints)) throw wrong(`${at}.endpoints`, 'must be a list')
    return {
      version,
      metadata: readMap(item['metadata'], `${at}.metadata`, rejectEntry),
      endpoints: endpoints.map((endpoint: unknown, n) => {
        const where = `${at}.endpoints[${n}]`
        if (!isRecord(endpoint)) throw wrong(where, 'must be an object')
        return readEndpoint(endpoint, where, rejectEntry)
      }),
    }
  })
  return JSON.stringify(versions)
}

export function formatServer({ address, peers }: ServerEntry): string {
  return JSON.stringify({ address, peers })
}

/** Parses an entry created by {@link formatServer} or {@link readServer}. */
export function parseServer(entry: string): ServerEntry {
  return JSON.parse(entry) as ServerEntry
}

/**
 * Parses a received entry of a server.
 *
 * @param path path of the value, for error messages.
 * @throws {TypeError} with the invalid field.
 */
export function readServer(value: unknown, path: string): string {
  if (!isRecord(value)) throw wrong(path, 'must be an object')
  const { address, peers } = value
  if (address !== '' && !isServerAddress(address))
    throw wrong(`${path}.address`, 'must be empty, mx://host:port or mxs://host:port')
  const isList = Array.isArray(peers) && peers.length <= MAX_PEERS
  if (!isList || !peers.every((peer) => typeof peer === 'string' && isServerId(peer)))
    throw wrong(`${path}.peers`, `must be at most ${MAX_PEERS} ids of servers`)
  return formatServer({ address: address as string, peers: peers as string[] })
}

function rejectEntry(path: string, must: string): never {
  throw wrong(path, must)
}

function wrong(path: string, must: string): TypeError {
  return new TypeError(`${path} ${must}`)
}
