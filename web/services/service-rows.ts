import type { Node, Service } from '../../core/contracts/registry.ts'

/** A version of a service, as the registry tells it. */
export interface Entry extends Service {
  readonly options: { readonly domain: string }
}

/** What happened to a version; without nodes, when it is gone. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete'
  readonly service: Entry
}

/** Versions by what tells them apart. */
export type Entries = ReadonlyMap<string, Entry>

/** A service, all its versions together. */
export interface ServiceRow {
  readonly key: string
  readonly name: string
  readonly domain: string
  readonly description: string
  readonly versions: readonly string[]
  readonly nodes: readonly Node[]
  /** Nodes that are about to leave. */
  readonly draining: number
  /** Endpoints, each once. */
  readonly endpoints: readonly string[]
  /** Its names, addresses and endpoints, in lower case. */
  readonly text: string
  /** Its metadata and those of its nodes, `key=value`, in lower case. */
  readonly metadata: string
}

export function keyOf({ name, version, options: { domain } }: Entry): string {
  return `${domain} ${name} ${version}`
}

/** A row for each service of each namespace, by name. */
export function toRows(entries: Entries): readonly ServiceRow[] {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries.values()) {
    const key = `${entry.name} ${entry.options.domain}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [entry])
    else group.push(entry)
  }
  return [...groups]
    .map(([key, group]) => toRow(key, group))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** Those that hold every word of a text in a name, version, endpoint or address; words with `=` in their metadata. */
export function searchRows(rows: readonly ServiceRow[], text: string): readonly ServiceRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return rows
  return rows.filter((row) =>
    words.every((word) => (word.includes('=') ? row.metadata : row.text).includes(word)),
  )
}

function toRow(key: string, group: readonly Entry[]): ServiceRow {
  const { name, options } = group[0]!
  const nodes = group.flatMap((entry) => entry.nodes)
  const endpoints = [
    ...new Set(group.flatMap((entry) => entry.endpoints.map((e) => e.name))),
  ].sort()
  const versions = group.map((entry) => entry.version).sort()
  const description = group.map((entry) => entry.metadata['description'] ?? '').find(Boolean) ?? ''
  const words = [
    name,
    options.domain,
    description,
    ...versions,
    ...endpoints,
    ...nodes.flatMap(({ id, address }) => [id, address]),
  ]
  const metadata = [...group, ...nodes].flatMap((one) => toWords(one.metadata))
  return {
    key,
    name,
    domain: options.domain,
    description,
    versions,
    nodes,
    draining: nodes.filter(({ metadata }) => metadata['state'] === 'draining').length,
    endpoints,
    text: words.join('\n').toLowerCase(),
    metadata: metadata.join('\n').toLowerCase(),
  }
}

/** `key=value`, so that either can be searched. */
function toWords(metadata: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(metadata).map(([name, value]) => `${name}=${value}`)
}
