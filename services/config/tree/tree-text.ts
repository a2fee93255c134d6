import { type ConfigMap, type ConfigNode, isMap, type LeafEntry, MASK } from './tree.ts'

/**
 * Formats a node as JSON, with `<`, `>` and `&` unescaped.
 *
 * @param names path of the node.
 * @param open returns the JSON of a secret. @default the mask
 */
export function formatTreeJson(
  node: ConfigNode,
  names: readonly string[] = [],
  open: (placed: LeafEntry) => string = () => MASK,
): string {
  if (!isMap(node)) return node.secret ? open({ names, leaf: node }) : node.text
  const members: string[] = []
  for (const [name, child] of node)
    members.push(`${JSON.stringify(name)}:${formatTreeJson(child, [...names, name], open)}`)
  return `{${members.join()}}`
}

/**
 * Returns the stored form of a node: an object for a map, a string with the text for a leaf, and a
 * list with one element for a secret.
 */
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

/** Cached texts of top-level maps, most of which remain unchanged by a change. */
const members = new WeakMap<ConfigMap, Member>()

/** Returns the stored form of an entire tree. */
export function formatTree(tree: ConfigMap): string {
  return `{${[...tree].map(([name, node]) => `${JSON.stringify(name)}:${toMember(node).text}`).join()}}`
}

/** Returns the size of the stored form in bytes. */
export function sizeOfTree(tree: ConfigMap): number {
  let bytes = 1
  // Includes colon and comma. The last member has a bracket instead of the comma.
  for (const [name, node] of tree)
    bytes += Buffer.byteLength(JSON.stringify(name)) + toMember(node).bytes + 2
  return Math.max(bytes, 2)
}

function toMember(node: ConfigNode): Member {
  const cached = isMap(node) ? members.get(node) : undefined
  if (cached !== undefined) return cached
  const text = formatStored(node)
  const member = { text, bytes: Buffer.byteLength(text) }
  if (isMap(node)) members.set(node, member)
  return member
}

type Stored = string | readonly [string] | { readonly [name: string]: Stored }

/** @throws {SyntaxError} if the text is not JSON. */
export function parseStored(text: string): ConfigMap {
  return toNode(JSON.parse(text)) as ConfigMap
}

function toNode(stored: Stored): ConfigNode {
  if (typeof stored === 'string') return { text: stored, secret: false }
  if (Array.isArray(stored)) return { text: stored[0] as string, secret: true }
  return new Map(Object.entries(stored).map(([name, child]) => [name, toNode(child)]))
}
