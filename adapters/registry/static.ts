import type { Node, Registry, Service } from '../../core/contracts/registry.ts'
import { diffServices } from '../../core/registry/diff.ts'
import { createRegistryWatchers } from '../../core/registry/event-hub.ts'
import { checkService } from '../../core/registry/service.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { joinName } from '../../core/route.ts'
import { parseNode } from '../../core/upstream/node/parse-node.ts'
import { redactUrl } from '../../lib/text/redact.ts'

/** A registry of the services listed in flags and a configuration file. */
export interface StaticRegistry extends Registry {
  readonly getService: (name: string) => readonly Service[]
  readonly listServices: () => readonly Service[]
  readonly watch: NonNullable<Registry['watch']>
  /**
   * Replaces all services and emits the changes to watchers.
   *
   * @throws {TypeError} if an entry is malformed; the current services remain in use.
   */
  readonly replace: (entries: readonly Service[]) => void
}

type Services = ReadonlyMap<string, readonly Service[]>

const SCHEME = /^([^/]*):\/\//
const SCHEMES = ['http', 'https', 'mx', 'mxs', 'grpc', 'grpcs']
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: ':80', https: ':443' }
const HAS_PORT = /:\d+$/
/** Path, query or fragment of a URL. */
const MORE = /[/?#].*$/s

/**
 * @param entries entries with the same name and version are merged, and nodes are merged by id.
 * @throws {TypeError} if an entry is malformed.
 */
export function createStaticRegistry(entries: readonly Service[]): StaticRegistry {
  const { watch, emit } = createRegistryWatchers()
  let services = merge(entries)

  return {
    name: 'static',
    getService: (name) => services.get(name) ?? [],
    listServices: () => [...services.values()].flat(),
    watch,

    replace(next) {
      const old = services
      services = merge(next)
      for (const event of diffServices([...old.values()].flat(), [...services.values()].flat()))
        emit(event)
    },
  }
}

/**
 * Parses `--backend`: `name=node,node...`, where a node is
 * `[http://|https://|mx://|mxs://|grpc://|grpcs://]host:port[;weight][;pipeline=n]`. IPv6 addresses
 * are in brackets. The id of a node is its text before the first `;`.
 *
 * @param namespace prefix for names without a dot; no prefix if empty.
 * @throws {RangeError} with the invalid part and the expected form.
 */
export function parseBackend(text: string, namespace: string): Service {
  const equals = text.indexOf('=')
  const nodes = text.slice(equals + 1).trim()
  if (equals < 0 || nodes === '') {
    throw new RangeError(
      `backend must be name=host:port[;weight],... or name=scheme://host:port,... with http, https, mx, mxs, grpc or grpcs, got ${quote(text)}`,
    )
  }
  return toService(text.slice(0, equals).trim(), nodes.split(','), namespace)
}

/**
 * Returns a service with the listed nodes, see {@link parseBackend}. A service without nodes exists
 * but is unavailable (503).
 *
 * @throws {RangeError} with the invalid part and the expected form.
 */
export function toService(name: string, nodeTexts: readonly string[], namespace: string): Service {
  if (!isServiceName(name)) {
    throw new RangeError(
      `backend name must consist of letters, digits and inner dots, dashes or underscores, got ${quote(name)}`,
    )
  }
  const nodes = nodeTexts.map(parseBackendNode)
  const ids = new Set<string>()
  for (const { id } of nodes) {
    if (ids.has(id)) throw new RangeError(`backend ${name} has the duplicate node ${id}`)
    ids.add(id)
  }
  return {
    name: name.includes('.') ? name : joinName(namespace, name),
    version: 'latest',
    metadata: {},
    endpoints: [],
    nodes,
  }
}

function parseBackendNode(text: string): Node {
  const [id = '', ...settings] = text.split(';').map((part) => part.trim())
  const metadata: Record<string, string> = {}
  const protocol = SCHEME.exec(id)?.[1]
  let address = id
  if (protocol !== undefined) {
    if (!SCHEMES.includes(protocol)) {
      throw new RangeError(
        `backend node ${quote(text)}: scheme must be http, https, mx, mxs, grpc or grpcs, got ${JSON.stringify(protocol)}`,
      )
    }
    metadata['protocol'] = protocol
    address = id.slice(protocol.length + '://'.length)
    checkOrigin(address, text)
    if (!HAS_PORT.test(address)) address += DEFAULT_PORT[protocol] ?? ''
  }
  for (const setting of settings) {
    const [key, value] = setting.startsWith('pipeline=')
      ? ['pipeline', setting.slice(9)]
      : ['weight', setting]
    if (metadata[key!] !== undefined || value!.includes('=')) {
      throw new RangeError(
        `backend node ${redactUrl(id)} accepts ;<weight> and ;pipeline=<n>, got ${JSON.stringify(setting)}`,
      )
    }
    metadata[key] = value!
  }
  const node: Node = { id, address, metadata }
  const problem = parseNode(node)
  if (typeof problem === 'string') throw new RangeError(`backend node ${quote(text)}: ${problem}`)
  return node
}

/** @throws {RangeError} if the URL has a path, query or fragment. */
function checkOrigin(address: string, text: string): void {
  const more = MORE.exec(address)?.[0]
  if (more === undefined) return
  throw new RangeError(
    `backend node ${quote(text)}: expected scheme://host:port; requests keep their full path, so remove ${quote(more)}`,
  )
}

function merge(entries: readonly Service[]): Services {
  const merged = new Map<string, Map<string, Service>>()
  for (const entry of entries) {
    checkService(entry)
    const versions = merged.get(entry.name) ?? new Map<string, Service>()
    const nodes = new Map(versions.get(entry.version)?.nodes.map((node) => [node.id, node]))
    for (const node of entry.nodes) nodes.set(node.id, node)
    merged.set(entry.name, versions.set(entry.version, { ...entry, nodes: [...nodes.values()] }))
  }
  return new Map([...merged].map(([name, versions]) => [name, [...versions.values()]]))
}

/** Quotes a text for errors, with redacted secrets. */
function quote(text: string): string {
  return JSON.stringify(redactUrl(text))
}
