import { formatPath, splitConfigPath } from './tree/path.ts'
import { type ConfigMap, type ConfigNode, findNode, isMap } from './tree/tree.ts'

export interface ListedLeaf {
  readonly path: string
  readonly secret: boolean
}

export interface Page {
  readonly entries: ListedLeaf[]
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string
}

/**
 * Returns the leaves at or below a path, sorted by path.
 *
 * @param after path after which the page starts; empty to start with the first path.
 */
export function toPage(tree: ConfigMap, path: string, after: string, limit: number): Page {
  const entries: ListedLeaf[] = []
  const names = splitConfigPath(path)
  const node = findNode(tree, names)
  if (node === undefined) return { entries }
  for (const leaf of walk(node, names, after)) {
    if (entries.length === limit) return { entries, next: entries.at(-1)!.path }
    entries.push(leaf)
  }
  return { entries }
}

function* walk(
  node: ConfigNode,
  names: readonly string[],
  after: string,
): Generator<ListedLeaf, void> {
  const path = formatPath(names)
  if (!isMap(node)) {
    if (path > after) yield { path, secret: node.secret }
    return
  }
  const start = path === '' ? '' : `${path}.`
  // The entire subtree precedes the cursor.
  if (after > start && !after.startsWith(start)) return
  const children = [...node].map(([name, child]) => ({
    name,
    child,
    // Compares a map's name with a trailing dot, which follows it in the paths below it, because `a-b` sorts before
    // `a.b`.
    place: isMap(child) ? `${name}.` : name,
  }))
  children.sort((a, b) => (a.place < b.place ? -1 : 1))
  for (const { name, child } of children) yield* walk(child, [...names, name], after)
}
