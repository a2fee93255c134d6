/** A value that is no map. */
export interface Leaf {
  /** JSON; of a secret it is sealed. */
  readonly text: string
  readonly secret: boolean
}

/** Values by name. Never changed: what differs is a map of its own, what does not is shared. */
export type ConfigMap = ReadonlyMap<string, ConfigNode>
export type ConfigNode = Leaf | ConfigMap

/** A leaf where it is. */
export interface PlacedLeaf {
  readonly names: readonly string[]
  readonly leaf: Leaf
}

export const EMPTY: ConfigMap = new Map()
/** What secrets look like to whoever does not ask for them (specification: Config entry), as JSON. */
export const MASK = '"[secret]"'

export function isMap(node: ConfigNode): node is ConfigMap {
  return node instanceof Map
}

/** What a path leads to; undefined: nothing. */
export function findNode(tree: ConfigMap, names: readonly string[]): ConfigNode | undefined {
  let node: ConfigNode | undefined = tree
  for (const name of names) {
    if (node === undefined || !isMap(node)) return undefined
    node = node.get(name)
  }
  return node
}

/** The tree without what a path leads to; the same one when there is nothing. */
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

/** Whether a node is a secret or has one in it. */
export function holdsSecret(node: ConfigNode): boolean {
  if (!isMap(node)) return node.secret
  for (const child of node.values()) if (holdsSecret(child)) return true
  return false
}

/**
 * The node with other leaves in the places of its own; the same one when all are the same.
 *
 * @param names path of the node.
 */
export function mapLeaves<T extends ConfigNode>(
  node: T,
  toLeaf: (place: PlacedLeaf) => Leaf,
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
