import type { Node, Service } from '../../../core/contracts/registry.ts'
import { checkService, isSameMap } from '../../../core/registry/service.ts'
import { flattenString } from '../../../lib/text/flatten-string.ts'
import { isRecord, readMap, readText } from './http/json.ts'
import {
  DEFAULT_DOMAIN,
  DEFAULT_VERSION,
  formatEndpoint,
  isRevision,
  parseTags,
  pickEndpoints,
  pickMetadata,
  type ReadTags,
  toPlainEndpoints,
  toPlainMetadata,
} from './tags.ts'

export interface ReadOptions {
  readonly domain: string
  /** Called with the reason for each ignored entry. */
  readonly warn: (reason: string) => void
}

/** A single instance, represented as a version of the service with one node. */
interface Instance {
  readonly service: Service
  /** Raft index of the last change. The latest registration describes the version. */
  readonly changed: number
  readonly passing: boolean
}

/**
 * Node metadata keys with a special meaning in mx. In the Meta of other registrations, they may
 * have a different meaning.
 */
const RESERVED_KEYS = ['protocol', 'weight', 'pipeline', 'state', 'tags']
/** Meta keys written by this adapter. */
const ADAPTER_META = ['mx-version', 'mx-domain']
const MAX_WEIGHT = 1000
/** Maximum length in characters of the tag list in node metadata. */
const MAX_TAGS_TEXT = 512

/**
 * Reads the versions of a service from a response of `/v1/health/service/<name>`. Includes only
 * nodes whose checks all pass, sorted by id. A version without passing nodes has an empty node
 * list.
 *
 * @param known earlier versions, whose equal endpoints are reused.
 * @throws {SyntaxError} if the response is not a JSON list.
 */
export function readHealth(
  body: Buffer,
  name: string,
  options: ReadOptions,
  known: readonly Service[] = [],
): Service[] {
  const rows: unknown = JSON.parse(body.toString())
  if (!Array.isArray(rows)) throw new SyntaxError('it did not return a list of instances')
  const versions = new Map<string, Instance[]>()
  const readTags = createTagsReader(options.domain, known)
  for (const row of rows) {
    const instance = readRow(row, name, options, readTags)
    if (instance === undefined) continue
    const { version } = instance.service
    versions.set(version, [...(versions.get(version) ?? []), instance])
  }
  return [...versions].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, instances]) => merge(instances))
}

function merge(instances: Instance[]): Service {
  instances.sort((a, b) => a.changed - b.changed)
  const nodes = new Map<string, Node>()
  let { metadata } = instances[0]!.service.nodes[0]!
  for (const { service, passing } of instances) {
    const node = service.nodes[0]!
    // Metadata is usually equal, so it is shared. With a hundred thousand nodes, this saves a lot
    // of memory.
    if (!isSameMap(node.metadata, metadata)) metadata = node.metadata
    if (passing) nodes.set(node.id, { ...node, metadata })
  }
  return {
    ...(instances.findLast(({ passing }) => passing) ?? instances.at(-1)!).service,
    nodes: [...nodes.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
  }
}

type TagsReader = (tags: unknown, warn: (reason: string) => void) => ReadTags

/**
 * Instances usually have the same long tags except for the revision, so tags equal to the previous
 * ones are not parsed again.
 */
function createTagsReader(domain: string, services: readonly Service[]): TagsReader {
  const endpoints = new Map(
    services.flatMap(({ version, endpoints }) =>
      endpoints.map((endpoint) => [
        formatEndpoint(version, endpoint),
        { version: version === DEFAULT_VERSION ? '' : version, endpoint },
      ]),
    ),
  )
  let previous: readonly unknown[] | undefined
  let known: ReadTags | undefined
  return (tags, warn) => {
    const list = Array.isArray(tags) ? tags.filter((tag) => !isRevision(tag)) : undefined
    if (known !== undefined && list !== undefined && isSameList(list, previous!)) return known
    let warned = false
    const report = (reason: string): void => {
      warned = true
      warn(reason)
    }
    const read = parseTags(list, domain, report, endpoints)
    previous = list
    known = warned || previous === undefined ? undefined : read
    return read
  }
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i])
}

function readRow(
  row: unknown,
  name: string,
  { domain, warn }: ReadOptions,
  readTags: TagsReader,
): Instance | undefined {
  if (!isRecord(row) || !isRecord(row['Service']) || !isRecord(row['Node'])) {
    warn(`an instance of ${name} is ignored: it has no Service or Node`)
    return undefined
  }
  const { Service: entry, Node: host } = row
  // Proxies of Consul's service mesh do not accept plain connections.
  if (readText(entry, 'Kind') !== '') return undefined
  // Consul matches names case-insensitively.
  if (readText(entry, 'Service') !== name) return undefined
  const id = readText(entry, 'ID')
  const report = (reason: string): void =>
    warn(`instance ${JSON.stringify(id.slice(0, 80))} of ${name}: ${reason}`)
  const tags = readTags(entry['Tags'], report)
  if (!(tags.domains.size === 0 ? domain === DEFAULT_DOMAIN : tags.domains.has(domain)))
    return undefined
  const meta = readMap(entry['Meta'])
  const version = tags.versions[0] ?? (tags.marked && meta['mx-version']) ?? ''
  const address = toAddress(readText(entry, 'Address') || readText(host, 'Address'), entry['Port'])
  const protocol = tags.protocol || (meta['mx-protocol'] ?? '')
  const service: Service = tags.marked
    ? {
        name,
        version: version || DEFAULT_VERSION,
        metadata: pickMetadata(tags, version || DEFAULT_VERSION),
        endpoints: pickEndpoints(tags, version || DEFAULT_VERSION, true),
        nodes: [
          {
            id: id.startsWith(`${name}:`) ? flattenString(id.slice(name.length + 1)) : id,
            address,
            metadata: { ...omit(meta, ADAPTER_META), ...tags.nodeMetadata },
          },
        ],
      }
    : {
        name,
        version: DEFAULT_VERSION,
        metadata: toPlainMetadata(tags, protocol),
        endpoints: toPlainEndpoints(tags),
        nodes: [
          {
            // Instances on different hosts may have the same id, which defaults to the service
            // name.
            id: `${id}@${readText(host, 'Node')}`,
            address,
            metadata: {
              ...omit(meta, RESERVED_KEYS),
              ...toPlainNodeMetadata(protocol, entry['Weights']),
              ...(tags.others.length > 0 && {
                tags: tags.others.join(',').slice(0, MAX_TAGS_TEXT),
              }),
            },
          },
        ],
      }
  try {
    checkService(service)
  } catch (error) {
    report(`ignored: ${(error as Error).message}`)
    return undefined
  }
  const changed = entry['ModifyIndex']
  return {
    service,
    changed: typeof changed === 'number' ? changed : 0,
    passing: isPassing(row['Checks']),
  }
}

function isPassing(checks: unknown): boolean {
  const list: unknown[] = Array.isArray(checks) ? checks : []
  return list.every((check) => isRecord(check) && readText(check, 'Status') === 'passing')
}

function toPlainNodeMetadata(protocol: string, weights: unknown): Record<string, string> {
  const weight = isRecord(weights) ? weights['Passing'] : undefined
  const weighs = typeof weight === 'number' && Number.isInteger(weight) && weight > 1
  return {
    ...(protocol !== '' && { protocol }),
    ...(weighs && { weight: String(Math.min(weight, MAX_WEIGHT)) }),
  }
}

function toAddress(host: string, port: unknown): string {
  return `${host.includes(':') ? `[${host}]` : host}:${typeof port === 'number' ? port : 0}`
}

function omit(
  map: Readonly<Record<string, string>>,
  keys: readonly string[],
): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)))
}
