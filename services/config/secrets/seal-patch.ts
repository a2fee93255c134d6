import type { Sealer } from '../tree/merge.ts'
import { isAbsent, type Patch } from '../tree/patch.ts'
import { formatPath, splitConfigPath } from '../tree/path.ts'
import { type ConfigNode, isMap, type LeafEntry, mapLeaves } from '../tree/tree.ts'

/** Positions in trees, indexed by their ancestors. */
interface PathTree {
  readonly exact: ReadonlySet<string>
  /** Keyed by the paths of ancestors. */
  readonly below: ReadonlyMap<string, readonly (readonly string[])[]>
}

/**
 * Encrypts values at the positions, below them, and on the path to them.
 *
 * @returns the same patch if it contains no such values.
 */
export function sealPatch(
  patch: Patch,
  paths: readonly (readonly string[])[],
  { seal }: Sealer,
): Patch {
  const { exact, below } = toPathTree(paths)
  const sealLeaf = ({ names, leaf }: LeafEntry) =>
    leaf.secret ? leaf : { text: seal(names, leaf.text), secret: true }

  function sealNode(node: ConfigNode, names: readonly string[]): ConfigNode {
    if (exact.has(formatPath(names))) return mapLeaves(node, sealLeaf, names)
    const inside = below.get(formatPath(names))
    if (inside === undefined) return node
    if (!isMap(node)) return sealLeaf({ names, leaf: node })
    const copy = new Map(node)
    let changed = false
    for (const name of new Set(inside.map((segments) => segments[names.length]!))) {
      const child = node.get(name)
      const sealed = child && sealNode(child, [...names, name])
      if (sealed === undefined || sealed === child) continue
      copy.set(name, sealed)
      changed = true
    }
    return changed ? copy : node
  }

  const copy = new Map(patch)
  let changed = false
  for (const [path, node] of patch) {
    if (isAbsent(node)) continue
    const names = splitConfigPath(path)
    const isInside = names.some((_, depth) => exact.has(formatPath(names.slice(0, depth))))
    const sealed = isInside ? mapLeaves(node, sealLeaf, names) : sealNode(node, names)
    if (sealed === node) continue
    copy.set(path, sealed)
    changed = true
  }
  return changed ? copy : patch
}

function toPathTree(paths: readonly (readonly string[])[]): PathTree {
  const below = new Map<string, (readonly string[])[]>()
  for (const segments of paths)
    for (let depth = 0; depth < segments.length; depth++) {
      const path = formatPath(segments.slice(0, depth))
      const existing = below.get(path)
      if (existing === undefined) below.set(path, [segments])
      else existing.push(segments)
    }
  return { exact: new Set(paths.map(formatPath)), below }
}
