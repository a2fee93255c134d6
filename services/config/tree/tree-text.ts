import { type ConfigMap, type ConfigNode, isMap, MASK, type PlacedLeaf } from './tree.ts'

/**
 * A node as JSON, `<`, `>` and `&` as they are.
 *
 * @param names its path.
 * @param open gives the JSON of a secret. @default what stands for all of them
 */
export function formatJson(
  node: ConfigNode,
  names: readonly string[] = [],
  open: (place: PlacedLeaf) => string = () => MASK,
): string {
  if (!isMap(node)) return node.secret ? open({ names, leaf: node }) : node.text
  const members: string[] = []
  for (const [name, child] of node)
    members.push(`${JSON.stringify(name)}:${formatJson(child, [...names, name], open)}`)
  return `{${members.join()}}`
}

/** A node as it is stored: a map is an object, a leaf a string with its text, a secret a list of one. */
export function formatStored(node: ConfigNode): string {
  if (!isMap(node)) {
    const text = JSON.stringify(node.text)
    return node.secret ? `[${text}]` : text
  }
  const members: string[] = []
  for (const [name, child] of node) members.push(`${JSON.stringify(name)}:${formatStored(child)}`)
  return `{${members.join()}}`
}

interface Member {
  readonly text: string
  readonly bytes: number
}

/** Texts of the maps directly below a whole tree, which most changes leave as they are. */
const members = new WeakMap<ConfigMap, Member>()

/** A whole tree as it is stored. */
export function formatTree(tree: ConfigMap): string {
  return `{${[...tree].map(([name, node]) => `${JSON.stringify(name)}:${toMember(node).text}`).join()}}`
}

/** Bytes of a whole tree as it is stored. */
export function sizeOfTree(tree: ConfigMap): number {
  let bytes = 1
  // With colon and comma; the last has none, but there is a bracket.
  for (const [name, node] of tree)
    bytes += Buffer.byteLength(JSON.stringify(name)) + toMember(node).bytes + 2
  return Math.max(bytes, 2)
}

function toMember(node: ConfigNode): Member {
  const known = isMap(node) ? members.get(node) : undefined
  if (known !== undefined) return known
  const text = formatStored(node)
  const member = { text, bytes: Buffer.byteLength(text) }
  if (isMap(node)) members.set(node, member)
  return member
}

type Stored = string | readonly [string] | { readonly [name: string]: Stored }

/** @throws {SyntaxError} when it is no JSON. */
export function parseStored(text: string): ConfigMap {
  return toNode(JSON.parse(text)) as ConfigMap
}

function toNode(stored: Stored): ConfigNode {
  if (typeof stored === 'string') return { text: stored, secret: false }
  if (Array.isArray(stored)) return { text: stored[0] as string, secret: true }
  return new Map(Object.entries(stored).map(([name, child]) => [name, toNode(child)]))
}
