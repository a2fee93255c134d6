import { formatPath, parsePath } from './path.ts'
import { type ConfigMap, type ConfigNode, isMap, type Leaf } from './tree.ts'

/**
 * What makes another tree of a tree: nodes by their paths, for what is there. Written, read and encrypted as a tree is: its
 * names have dots.
 */
export type Patch = ConfigMap

/** In a patch: there is nothing. No JSON is empty. */
const ABSENT: Leaf = { text: '', secret: false }

/** What makes `to` of `from`. What the two share is not looked at. */
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

/** The tree a patch makes of the one it was made for. */
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
    const names = [...parsePath(path)]
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

/** Whether a node of a patch stands for nothing. */
export function isAbsent(node: ConfigNode): boolean {
  return !isMap(node) && node.text === ABSENT.text
}
