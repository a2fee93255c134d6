import type { Endpoint } from '../../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import { isRecord, readEndpoint, readMap } from './http/json.ts'

export { DEFAULT_DOMAIN }
/** Tag of every service registered by mx. */
export const MARKER = 'mx'
/** The version that goes without saying. */
export const DEFAULT_VERSION = 'latest'

/** An endpoint, and the version its tag names; empty: none. */
export interface ReadEndpoint {
  readonly version: string
  readonly endpoint: Endpoint
}

/** What the tags of a service, of one instance or of all its instances together, say. */
export interface ReadTags {
  /** Whether mx registered it. */
  readonly marked: boolean
  /** Domains it says to be in. */
  readonly domains: ReadonlySet<string>
  /** Versions in the domain asked for. */
  readonly versions: readonly string[]
  /** By version; empty: none is named. */
  readonly endpoints: readonly ReadEndpoint[]
  readonly metadata: ReadonlyMap<string, Readonly<Record<string, string>>>
  /** Metadata of the node Consul's Meta cannot hold. */
  readonly nodeMetadata: Readonly<Record<string, string>>
  /** What `mx.protocol` says of a plain service; empty: nothing. */
  readonly protocol: string
  /** `mx.path`, `mx.host`, `mx.method` and `mx.handler` of a plain service, joined by commas. */
  readonly route: Readonly<Record<string, string>>
  /** Tags that mean nothing to mx. */
  readonly others: readonly string[]
}

/**
 * Key of a tag that is another one for every node, and once that has changed: what lists the tags of all services then tells that one of
 * them has other nodes than before.
 */
export const REVISION = 'revision'
const REVISION_START = `mx.${REVISION}`

/** Longest tag read, characters. */
export const MAX_TAG = 65_536
/** Most tags read of a service. */
const MAX_TAGS = 4096
const TAG = /^mx\.([a-z]+)(?:@([^=]+))?=(.*)$/s
const ROUTE_KEYS: ReadonlySet<string> = new Set(['path', 'host', 'method', 'handler'])

/** Writes one tag: `mx.<key>=<value>`, with `@<domain>` behind the key outside the default domain. */
export function formatTag(key: string, domain: string, value: string): string {
  return `mx.${key}${domain === DEFAULT_DOMAIN ? '' : `@${domain}`}=${value}`
}

/** What the tag of an endpoint says: JSON, without the default version. */
export function formatEndpoint(
  version: string,
  { name, request, response, metadata }: Endpoint,
): string {
  const ofVersion = version === DEFAULT_VERSION ? {} : { version }
  return JSON.stringify({ name, ...ofVersion, request, response, metadata })
}

/** Whether a tag is a {@link REVISION}: it describes nothing. */
export function isRevision(tag: unknown): boolean {
  return typeof tag === 'string' && tag.startsWith(REVISION_START)
}

/**
 * @param warn told what is left out, and why.
 * @param known endpoints that were read before, by {@link formatEndpoint}: kept once, and not read again.
 */
export function parseTags(
  tags: unknown,
  domain: string,
  warn: (reason: string) => void,
  known?: ReadonlyMap<string, ReadEndpoint>,
): ReadTags {
  const domains = new Set<string>()
  const versions = new Set<string>()
  const endpoints: ReadEndpoint[] = []
  const metadata = new Map<string, Record<string, string>>()
  const routes = new Map<string, string[]>()
  const others: string[] = []
  let marked = false
  let protocol = ''
  let nodeMetadata: Record<string, string> = {}

  const read: Readonly<Record<string, (text: string) => void>> = {
    version: (text) => versions.add(text),
    endpoint(text) {
      const same = known?.get(text)
      if (same !== undefined) {
        endpoints.push(same)
        return
      }
      const value: unknown = JSON.parse(text)
      if (!isRecord(value)) throw new SyntaxError('it must be a JSON object')
      const { version = '' } = value
      if (typeof version !== 'string') throw new SyntaxError('its version must be a string')
      endpoints.push({ version, endpoint: readEndpoint(value) })
    },
    metadata(text) {
      const value: unknown = JSON.parse(text)
      if (!isRecord(value)) throw new SyntaxError('it must be a JSON object')
      const { version = '' } = value
      if (typeof version !== 'string') throw new SyntaxError('its version must be a string')
      metadata.set(version, readMap(value['values']))
    },
    node(text) {
      nodeMetadata = readMap(JSON.parse(text))
    },
  }

  const list: unknown[] = Array.isArray(tags) ? tags.filter((tag) => !isRevision(tag)) : []
  if (list.length > MAX_TAGS) warn(`only ${MAX_TAGS} of its ${list.length} tags are read`)
  for (const tag of list.slice(0, MAX_TAGS)) {
    if (typeof tag !== 'string') continue
    if (tag.length > MAX_TAG) {
      warn(`a tag of ${tag.length} characters is left out: ${show(tag)}`)
      continue
    }
    const [, key = '', scope, value = ''] = TAG.exec(tag) ?? []
    if (tag === MARKER) marked = true
    else if (key === 'domain') domains.add(value)
    else if (key === 'protocol') protocol = value
    else if (ROUTE_KEYS.has(key)) routes.set(key, [...(routes.get(key) ?? []), value])
    else if (!Object.hasOwn(read, key)) others.push(tag)
    else if ((scope ?? DEFAULT_DOMAIN) === domain) {
      try {
        read[key]!(value)
      } catch (error) {
        warn(`the tag ${show(tag)} is left out: ${(error as Error).message}`)
      }
    }
  }
  return {
    marked,
    domains,
    versions: [...versions],
    endpoints,
    metadata,
    nodeMetadata,
    protocol,
    route: Object.fromEntries([...routes].map(([key, values]) => [key, values.join(',')])),
    others,
  }
}

/**
 * The endpoints of one version, each name once, in the order of their tags.
 *
 * @param only whether the service has no other version: then what names none is of this one.
 */
export function pickEndpoints({ endpoints }: ReadTags, version: string, only: boolean): Endpoint[] {
  const picked = new Map<string, Endpoint>()
  for (const { version: named, endpoint } of endpoints) {
    const its = named === '' && !only ? DEFAULT_VERSION : named
    if ((its === '' || its === version) && !picked.has(endpoint.name))
      picked.set(endpoint.name, endpoint)
  }
  return [...picked.values()]
}

/** As {@link pickEndpoints}, for the metadata of the version. */
export function pickMetadata(
  { metadata }: ReadTags,
  version: string,
): Readonly<Record<string, string>> {
  return metadata.get(version) ?? (version === DEFAULT_VERSION ? metadata.get('') : undefined) ?? {}
}

/** The endpoint a plain service's route tags amount to; none without `mx.path`. */
export function toPlainEndpoints({ route }: ReadTags): Endpoint[] {
  if (route['path'] === undefined) return []
  const nothing = { name: '', type: '', values: [] }
  const metadata = { handler: 'proxy', ...route }
  return [{ name: 'Http.Any', request: nothing, response: nothing, metadata }]
}

/** Metadata of a plain service: the handler that carries requests to it, where no endpoint names one and its protocol is not that of calls. */
export function toPlainHandler(
  { route }: ReadTags,
  protocol: string,
): Readonly<Record<string, string>> {
  if (route['path'] !== undefined || protocol.startsWith('mx')) return {}
  return { handler: route['handler'] ?? 'proxy' }
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 80))
}
