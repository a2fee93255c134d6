import type { Node, Service } from '../../core/contracts/registry.ts'

/** A version of a service in the registry. */
export interface Entry extends Service {
  readonly options: { readonly domain: string }
}

/** A change of a version. A deleted version has no nodes. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete'
  readonly service: Entry
}

/** Entries by {@link keyOf}. */
export type Entries = ReadonlyMap<string, Entry>

/** A service with all its versions. */
export interface ServiceRow {
  readonly key: string
  readonly name: string
  readonly domain: string
  readonly description: string
  readonly versions: readonly string[]
  readonly nodes: readonly Node[]
  /** Number of draining nodes. */
  readonly draining: number
  /** Unique endpoint names. */
  readonly endpoints: readonly string[]
  /** Searchable text in lower case: names, versions, endpoints and addresses. */
  readonly text: string
  /** Searchable metadata of the service and its nodes as `key=value` in lower case. */
  readonly metadata: string
}

export function keyOf({ name, version, options: { domain } }: Entry): string {
  return `${domain} ${name} ${version}`
}

/** Groups entries into one row per service and namespace, ordered by name. */
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

/** Returns the rows that contain every word of a text. Words with `=` are searched in the metadata. */
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
  const metadata = [...group, ...nodes].flatMap((each) => toWords(each.metadata))
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

function toWords(metadata: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(metadata).map(([name, value]) => `${name}=${value}`)
}
