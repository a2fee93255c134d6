import { formatPath, splitConfigPath } from './path.ts'
import { type ConfigMap, type ConfigNode, isMap, type Leaf } from './tree.ts'

/**
 * Restores a previous tree. It contains previous nodes by path, and is stored and encrypted like a
 * tree, except that its names contain dots.
 */
export type Patch = ConfigMap

/** Represents an absent node in a patch. No JSON text is empty. */
const ABSENT: Leaf = { text: '', secret: false }

/** Returns the patch from one tree to another. Shared nodes are skipped. */
export function toPatch(from: ConfigMap, to: ConfigMap): Patch {
  const patch = new Map<string, ConfigNode>()
  const compare = (before: ConfigMap, after: ConfigMap, names: readonly string[]): void => {
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const old = before.get(name)
      const next = after.get(name)
      if (old === next) continue
      const path = [...names, name]
      if (old !== undefined && next !== undefined && isMap(old) && isMap(next))
        compare(old, next, path)
      else patch.set(formatPath(path), next ?? ABSENT)
    }
  }
  compare(from, to, [])
  return patch
}

/** Applies a patch to the tree for which it was created. */
export function applyPatch(tree: ConfigMap, patch: Patch): ConfigMap {
  const copies = new Set<ConfigMap>()
  const toCopy = (map: ConfigMap): Map<string, ConfigNode> => {
    if (copies.has(map)) return map as Map<string, ConfigNode>
    const copy = new Map(map)
    copies.add(copy)
    return copy
  }
  const root = toCopy(tree)
  for (const [path, node] of patch) {
    const names = [...splitConfigPath(path)]
    const last = names.pop()!
    let map = root
    for (const name of names) {
      const inner = toCopy(map.get(name) as ConfigMap)
      map.set(name, inner)
      map = inner
    }
    if (isAbsent(node)) map.delete(last)
    else map.set(last, node)
  }
  return root
}

export function isAbsent(node: ConfigNode): boolean {
  return !isMap(node) && node.text === ABSENT.text
}
