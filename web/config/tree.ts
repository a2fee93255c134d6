import { skipBlanks, splitObject } from '../../core/request/json/json-text.ts'

/** Node of the configuration tree. Values are JSON source text, so that large numbers stay exact. */
export type ConfigNode =
  | { readonly kind: 'map'; readonly children: ReadonlyMap<string, ConfigNode> }
  | { readonly kind: 'value'; readonly text: string }

/** Difference between two versions at a path. */
export interface ConfigDifference {
  readonly path: string
  /** JSON text; undefined if the path was added. */
  readonly before: string | undefined
  /** JSON text; undefined if the path was deleted. */
  readonly after: string | undefined
}

/** Placeholder of the `config` service for secrets. */
const HIDDEN = '"[secret]"'

/** Parses JSON into a tree sorted by name. */
export function parseTree(text: string): ConfigNode {
  const members = splitObject(text)
  if (members === undefined)
    return { kind: 'value', text: text.slice(skipBlanks(text, 0)).trimEnd() }
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1))
  return { kind: 'map', children: new Map(sorted.map(([name, value]) => [name, parseTree(value)])) }
}

export function isSecret(node: ConfigNode): boolean {
  return node.kind === 'value' && node.text === HIDDEN
}

export function findNode(root: ConfigNode, path: string): ConfigNode | undefined {
  let node: ConfigNode | undefined = root
  for (const name of path === '' ? [] : path.split('.'))
    node = node?.kind === 'map' ? node.children.get(name) : undefined
  return node
}

/** Compact JSON of a node. */
export function formatNode(node: ConfigNode): string {
  if (node.kind === 'value') return node.text
  const members = [...node.children].map(
    ([name, child]) => `${JSON.stringify(name)}:${formatNode(child)}`,
  )
  return `{${members.join()}}`
}

/** Iterates over the path and JSON of each leaf, in tree order. Empty objects are leaves. */
export function* walkValues(node: ConfigNode, path = ''): Generator<readonly [string, string]> {
  if (node.kind === 'value') return yield [path, node.text]
  if (node.children.size === 0 && path !== '') return yield [path, '{}']
  for (const [name, child] of node.children) yield* walkValues(child, joinPath(path, name))
}

/** Returns the differences between two trees. Secrets are hidden in both and are therefore equal. */
export function diffTrees(before: ConfigNode, after: ConfigNode): readonly ConfigDifference[] {
  const old = new Map(walkValues(before))
  const now = new Map(walkValues(after))
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((path) => old.get(path) !== now.get(path))
    .sort()
    .map((path) => ({ path, before: old.get(path), after: now.get(path) }))
}

export function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
