import type { Node, Registry, Service } from '../../core/contracts/registry.ts'
import { findChanges } from '../../core/registry/diff.ts'
import { createWatchers } from '../../core/registry/event-hub.ts'
import { checkService } from '../../core/registry/service.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { joinName } from '../../core/route.ts'
import { parseNode } from '../../core/upstream/parse-node.ts'
import { redactUrl } from '../../lib/text/redact.ts'

/** A registry whose services are written down: in flags and in a file. */
export interface StaticRegistry extends Registry {
  readonly getService: (name: string) => readonly Service[]
  readonly listServices: () => readonly Service[]
  readonly watch: NonNullable<Registry['watch']>
  /**
   * Takes over another list; watchers are told what became different.
   *
   * @throws {TypeError} when an entry is malformed; the old list stays.
   */
  readonly replace: (entries: readonly Service[]) => void
}

/** All versions of each service by its name. */
type Services = ReadonlyMap<string, readonly Service[]>

const SCHEME = /^([^/]*):\/\//
const SCHEMES = ['http', 'https', 'mx', 'mxs', 'grpc', 'grpcs']
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: ':80', https: ':443' }
const HAS_PORT = /:\d+$/
/** What follows the address in a URL. */
const MORE = /[/?#].*$/s

/**
 * @param entries entries of the same name and version are one, their nodes merged by id.
 * @throws {TypeError} when an entry is malformed.
 */
export function createStaticRegistry(entries: readonly Service[]): StaticRegistry {
  const { watch, emit } = createWatchers()
  let services = merge(entries)

  return {
    name: 'static',
    getService: (name) => services.get(name) ?? [],
    listServices: () => [...services.values()].flat(),
    watch,

    replace(next) {
      const old = services
      services = merge(next)
      for (const event of findChanges([...old.values()].flat(), [...services.values()].flat()))
        emit(event)
    },
  }
}

/**
 * Reads `--backend`: `name=node,node...`, where a node is `[http://|https://|mx://|mxs://|grpc://|grpcs://]host:port[;weight][;pipeline=n]`.
 * IPv6 addresses stand in brackets. A node is known by its text up to the first `;`.
 *
 * @param namespace a name without a dot lies inside it; empty: none.
 * @throws {RangeError} naming the wrong part and what would be right.
 */
export function parseBackend(text: string, namespace: string): Service {
  const equals = text.indexOf('=')
  const nodes = text.slice(equals + 1).trim()
  if (equals < 0 || nodes === '') {
    throw new RangeError(
      `backend must be name=host:port[;weight],... or name=scheme://host:port,... with http, https, mx, mxs, grpc or grpcs, got ${show(text)}`,
    )
  }
  return toService(text.slice(0, equals).trim(), nodes.split(','), namespace)
}

/**
 * A service and its nodes, each as in {@link parseBackend}; no nodes: a known service that is down.
 *
 * @throws {RangeError} naming the wrong part and what would be right.
 */
export function toService(name: string, nodeTexts: readonly string[], namespace: string): Service {
  if (!isServiceName(name)) {
    throw new RangeError(
      `name of a backend must be letters, digits and inner dots, dashes or underscores, got ${show(name)}`,
    )
  }
  const nodes = nodeTexts.map(parseBackendNode)
  const ids = new Set<string>()
  for (const { id } of nodes) {
    if (ids.has(id)) throw new RangeError(`backend ${name} lists ${id} twice`)
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
        `backend node ${show(text)}: scheme must be http, https, mx, mxs, grpc or grpcs, got ${JSON.stringify(protocol)}`,
      )
    }
    metadata['protocol'] = protocol
    address = id.slice(protocol.length + '://'.length)
    checkBare(address, text)
    if (!HAS_PORT.test(address)) address += DEFAULT_PORT[protocol] ?? ''
  }
  for (const setting of settings) {
    const [key, value] = setting.startsWith('pipeline=')
      ? ['pipeline', setting.slice(9)]
      : ['weight', setting]
    if (metadata[key!] !== undefined || value!.includes('=')) {
      throw new RangeError(
        `backend node ${redactUrl(id)} takes ;<weight> and ;pipeline=<n>, got ${JSON.stringify(setting)}`,
      )
    }
    metadata[key] = value!
  }
  const node: Node = { id, address, metadata }
  const wrong = parseNode(node)
  if (typeof wrong === 'string') throw new RangeError(`backend node ${show(text)}: ${wrong}`)
  return node
}

/** @throws {RangeError} for a URL with more than its address. */
function checkBare(address: string, text: string): void {
  const more = MORE.exec(address)?.[0]
  if (more === undefined) return
  throw new RangeError(
    `backend node ${show(text)}: a backend is scheme://host:port, and requests keep their whole path: leave ${show(more)} out`,
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

/** A text as errors quote it. */
function show(text: string): string {
  return JSON.stringify(redactUrl(text))
}
