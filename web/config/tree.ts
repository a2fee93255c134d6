import { skipBlanks, splitObject } from '../../core/request/json/json-text.ts'

/** A place of the configuration: others below it, or a value as it is written, so that long numbers stay whole. */
export type ConfigNode =
  | { readonly kind: 'map'; readonly children: ReadonlyMap<string, ConfigNode> }
  | { readonly kind: 'value'; readonly text: string }

/** What was changed between two versions. */
export interface ConfigDifference {
  readonly path: string
  /** JSON; undefined: it was not there. */
  readonly before: string | undefined
  /** JSON; undefined: it is not there. */
  readonly after: string | undefined
}

/** What the service `config` tells in place of a secret. */
const HIDDEN = '"[secret]"'

/** The tree of a JSON text that the service told, in the order of names. */
export function parseTree(text: string): ConfigNode {
  const members = splitObject(text)
  if (members === undefined)
    return { kind: 'value', text: text.slice(skipBlanks(text, 0)).trimEnd() }
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1))
  return { kind: 'map', children: new Map(sorted.map(([name, value]) => [name, parseTree(value)])) }
}

/** Whether a secret stands there. */
export function isSecret(node: ConfigNode): boolean {
  return node.kind === 'value' && node.text === HIDDEN
}

export function findNode(root: ConfigNode, path: string): ConfigNode | undefined {
  let node: ConfigNode | undefined = root
  for (const name of path === '' ? [] : path.split('.'))
    node = node?.kind === 'map' ? node.children.get(name) : undefined
  return node
}

/** JSON of a place and all that is below it, on one line. */
export function formatNode(node: ConfigNode): string {
  if (node.kind === 'value') return node.text
  const members = [...node.children].map(
    ([name, child]) => `${JSON.stringify(name)}:${formatNode(child)}`,
  )
  return `{${members.join()}}`
}

/** Path and value of each place that has one, in the order of the tree. An empty object is one, too. */
export function* walkValues(node: ConfigNode, path = ''): Generator<readonly [string, string]> {
  if (node.kind === 'value') return yield [path, node.text]
  if (node.children.size === 0 && path !== '') return yield [path, '{}']
  for (const [name, child] of node.children) yield* walkValues(child, joinPath(path, name))
}

/** What is no longer, not yet, or otherwise there. Secrets look alike in all versions. */
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
