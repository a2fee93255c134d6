/** A value that is not a map. */
export interface Leaf {
  /** Value as JSON; encrypted if secret. */
  readonly text: string
  readonly secret: boolean
}

/** Values by name. The map is immutable: changes copy the path and share all other nodes. */
export type ConfigMap = ReadonlyMap<string, ConfigNode>
export type ConfigNode = Leaf | ConfigMap

/** A leaf and its path. */
export interface LeafEntry {
  readonly names: readonly string[]
  readonly leaf: Leaf
}

export const EMPTY: ConfigMap = new Map()
/** JSON text that masks secrets in responses (specification: Config entry). */
export const MASK = '"[secret]"'

export function isMap(node: ConfigNode): node is ConfigMap {
  return node instanceof Map
}

/** Returns the node at a path, or undefined if absent. */
export function findNode(tree: ConfigMap, names: readonly string[]): ConfigNode | undefined {
  let node: ConfigNode | undefined = tree
  for (const name of names) {
    if (node === undefined || !isMap(node)) return undefined
    node = node.get(name)
  }
  return node
}

/** Returns the tree without the node at a path; the same tree if the node is absent. */
export function removeNode(tree: ConfigMap, names: readonly string[]): ConfigMap {
  const [name, ...rest] = names
  if (name === undefined) return tree.size === 0 ? tree : EMPTY
  const child = tree.get(name)
  if (child === undefined) return tree
  const copy = new Map(tree)
  if (rest.length === 0) copy.delete(name)
  else {
    const next = isMap(child) ? removeNode(child, rest) : child
    if (next === child) return tree
    copy.set(name, next)
  }
  return copy
}

/** Returns whether a node is or contains a secret. */
export function holdsSecret(node: ConfigNode): boolean {
  if (!isMap(node)) return node.secret
  for (const child of node.values()) if (holdsSecret(child)) return true
  return false
}

/**
 * Maps the leaves of a node. Returns the same node if all leaves are unchanged.
 *
 * @param names path of the node.
 */
export function mapLeaves<T extends ConfigNode>(
  node: T,
  toLeaf: (placed: LeafEntry) => Leaf,
  names: readonly string[] = [],
): T | Leaf {
  if (!isMap(node)) return toLeaf({ names, leaf: node as Leaf })
  let copy: Map<string, ConfigNode> | undefined
  for (const [name, child] of node) {
    const next = mapLeaves(child, toLeaf, [...names, name])
    if (next === child) continue
    copy ??= new Map(node)
    copy.set(name, next)
  }
  return (copy ?? node) as T
}
