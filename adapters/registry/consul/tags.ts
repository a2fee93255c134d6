import type { Endpoint } from '../../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import { SETTING_NAMES, toSettingMetadata } from '../../../core/registry/setting-metadata.ts'
import { isRecord, readEndpoint, readMap } from './http/json.ts'

export { DEFAULT_DOMAIN }
/** Tag of every service registered by mx. */
export const MARKER = 'mx'
export const DEFAULT_VERSION = 'latest'

/** An endpoint with the version from its tag; the version is empty if absent. */
export interface ReadEndpoint {
  readonly version: string
  readonly endpoint: Endpoint
}

/** Parsed tags of an instance, or of all instances of a service. */
export interface ReadTags {
  /** Whether the service was registered by mx. */
  readonly marked: boolean
  /** Domains of the service. */
  readonly domains: ReadonlySet<string>
  /** Versions in the requested domain. */
  readonly versions: readonly string[]
  /** Endpoints with their versions. */
  readonly endpoints: readonly ReadEndpoint[]
  readonly metadata: ReadonlyMap<string, Readonly<Record<string, string>>>
  /** Node metadata that does not fit into Consul's Meta. */
  readonly nodeMetadata: Readonly<Record<string, string>>
  /** Value of `mx.protocol` of a plain service; empty if absent. */
  readonly protocol: string
  /** `mx.path`, `mx.host`, `mx.method` and `mx.handler` of a plain service, joined by commas. */
  readonly route: Readonly<Record<string, string>>
  /** Metadata from the settings of a plain service, for example `mx.keep_alive`. */
  readonly settings: Readonly<Record<string, string>>
  /** Tags that have no meaning in mx. */
  readonly others: readonly string[]
}

/**
 * Key of a tag that is unique per node and changes with it. The tag list of all services thus shows
 * which of them have changed nodes.
 */
export const REVISION = 'revision'
const REVISION_START = `mx.${REVISION}`

/** Maximum length of a tag in characters. */
export const MAX_TAG = 65_536
/** Maximum number of tags per service. */
const MAX_TAGS = 4096
const TAG = /^mx\.([a-z][a-z._]*)(?:@([^=]+))?=(.*)$/s
const SETTING_KEYS: ReadonlySet<string> = new Set(SETTING_NAMES)
const ROUTE_KEYS: ReadonlySet<string> = new Set(['path', 'host', 'method', 'handler'])

/**
 * Formats a tag as `mx.<key>=<value>`, with `@<domain>` after the key unless it is the default
 * domain.
 */
export function formatTag(key: string, domain: string, value: string): string {
  return `mx.${key}${domain === DEFAULT_DOMAIN ? '' : `@${domain}`}=${value}`
}

/** Returns the value of an endpoint tag: JSON without the default version. */
export function formatEndpoint(
  version: string,
  { name, request, response, metadata }: Endpoint,
): string {
  const versionField = version === DEFAULT_VERSION ? {} : { version }
  return JSON.stringify({ name, ...versionField, request, response, metadata })
}

/** Returns whether a tag is a {@link REVISION}, which contains no description. */
export function isRevision(tag: unknown): boolean {
  return typeof tag === 'string' && tag.startsWith(REVISION_START)
}

/**
 * @param warn called with the reason for each ignored tag.
 * @param known parsed endpoints by {@link formatEndpoint}, which are reused.
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
  const settings = new Map<string, string>()
  const others: string[] = []
  let marked = false
  let protocol = ''
  let nodeMetadata: Record<string, string> = {}

  const parsers: Readonly<Record<string, (text: string) => void>> = {
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
  if (list.length > MAX_TAGS) warn(`only the first ${MAX_TAGS} of its ${list.length} tags are read`)
  for (const tag of list.slice(0, MAX_TAGS)) {
    if (typeof tag !== 'string') continue
    if (tag.length > MAX_TAG) {
      warn(`a tag of ${tag.length} characters is ignored: ${quote(tag)}`)
      continue
    }
    const [, key = '', scope, value = ''] = TAG.exec(tag) ?? []
    if (tag === MARKER) marked = true
    else if (key === 'domain') domains.add(value)
    else if (key === 'protocol') protocol = value
    else if (ROUTE_KEYS.has(key)) routes.set(key, [...(routes.get(key) ?? []), value])
    else if (SETTING_KEYS.has(key)) settings.set(key, value)
    else if (!Object.hasOwn(parsers, key)) others.push(tag)
    else if ((scope ?? DEFAULT_DOMAIN) === domain) {
      try {
        parsers[key]!(value)
      } catch (error) {
        warn(`the tag ${quote(tag)} is ignored: ${(error as Error).message}`)
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
    settings: toSettingMetadata((key) => settings.get(key)),
    others,
  }
}

/**
 * Returns the endpoints of one version, unique by name, in the order of their tags.
 *
 * @param only whether the service has no other version, so that endpoints without a version belong
 * to this one.
 */
export function pickEndpoints({ endpoints }: ReadTags, version: string, only: boolean): Endpoint[] {
  const picked = new Map<string, Endpoint>()
  for (const { version: tagged, endpoint } of endpoints) {
    const effective = tagged === '' && !only ? DEFAULT_VERSION : tagged
    if ((effective === '' || effective === version) && !picked.has(endpoint.name))
      picked.set(endpoint.name, endpoint)
  }
  return [...picked.values()]
}

/** Returns the metadata of the version; see {@link pickEndpoints}. */
export function pickMetadata(
  { metadata }: ReadTags,
  version: string,
): Readonly<Record<string, string>> {
  return metadata.get(version) ?? (version === DEFAULT_VERSION ? metadata.get('') : undefined) ?? {}
}

/**
 * Returns the endpoint described by a plain service's route tags. Returns none without `mx.path`.
 */
export function toPlainEndpoints({ route }: ReadTags): Endpoint[] {
  if (route['path'] === undefined) return []
  const none = { name: '', type: '', values: [] }
  const metadata = { handler: 'proxy', ...route }
  return [{ name: 'Http.Any', request: none, response: none, metadata }]
}

/**
 * Returns the metadata of a plain service: its settings, and the handler unless its endpoint has
 * one or it uses the call protocol.
 */
export function toPlainMetadata(
  { route, settings }: ReadTags,
  protocol: string,
): Readonly<Record<string, string>> {
  if (route['path'] !== undefined || protocol.startsWith('mx')) return settings
  return { ...settings, handler: route['handler'] ?? 'proxy' }
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80))
}
