import type { Exchange } from '../../exchange.ts'
import type { UpstreamNode } from '../node/upstream-node.ts'
import { type CookieSpan, findCookie } from './cookie.ts'
import type { Balancer, HashSource } from './policy.ts'

/**
 * Number of slots that keys map to: many per node for even shares, and constant, so that no key moves when the number
 * of nodes changes.
 */
const SLOTS = 65_536
/** Cached slots per node. A slot that is not cached is recomputed in time linear in the number of nodes. */
const CACHED_PER_NODE = 256
/** Number of slots probed for a second node before the list is scanned. */
const PROBES = 32
/** 2^32 divided by the golden ratio, which spreads consecutive numbers (Knuth, TAOCP 6.4). */
const STRIDE = 0x9e3779b9

/**
 * Maps each key to the same node as long as the node is usable.
 *
 * Weighted rendezvous hashing (Thaler and Ravishankar 1998; weights by Schindelhauer and Schomaker 2005) over a table
 * of slots. When a node leaves, only its keys move; when it returns, they move back. Slots are computed on first use,
 * so that building is cheap and a lookup is usually one cache read. The cache of 20 nodes takes 16 KiB. Requests
 * without a key use `keyless`.
 */
export function createHash(
  source: HashSource,
  nodes: readonly UpstreamNode[],
  keyless: Balancer,
): Balancer {
  if (nodes.length < 2) return keyless
  const seeds = Uint32Array.from(nodes, ({ id }) => hashText(id, 0, id.length))
  const weights = Float64Array.from(nodes, ({ weight }) => weight)
  const readKey = createKeyReader(source)
  /** The lower bits of a slot are its cache index, the others its tag. */
  const indexBits = toIndexBits(nodes.length)
  const tagBits = Math.log2(SLOTS) - indexBits
  const [indexMask, tagMask] = [2 ** indexBits - 1, 2 ** tagBits - 1]
  /**
   * Node index plus 1, then the tag; 0 if empty. Allocated on first use, since nodes may change more often than they
   * are used.
   */
  let memory: Uint16Array | Uint32Array | undefined

  const computeNode = (slot: number): number => {
    const salt = Math.imul(slot + 1, STRIDE)
    let best = Number.POSITIVE_INFINITY
    let index = 0
    for (let i = 0; i < nodes.length; i++) {
      // Uniform in (0, 1), so that -ln(u)/w is exponential with rate w: the smallest value belongs to i with
      // probability w_i / sum of w.
      const u = ((mix(seeds[i]! ^ salt) >>> 0) + 0.5) / 2 ** 32
      // -ln(u) is at least 1 - u, which excludes most nodes without computing a logarithm.
      if (1 - u >= best * weights[i]!) continue
      const score = -Math.log(u) / weights[i]!
      if (score < best) {
        best = score
        index = i
      }
    }
    return index
  }

  const nodeOf = (slot: number): UpstreamNode => {
    memory ??= createMemory(2 ** indexBits, (nodes.length + 1) * 2 ** tagBits)
    const cached = slot & indexMask
    const tag = slot >>> indexBits
    const value = memory[cached]!
    if (value !== 0 && (value & tagMask) === tag) return nodes[(value >>> tagBits) - 1]!
    const index = computeNode(slot)
    memory[cached] = ((index + 1) << tagBits) | tag
    return nodes[index]!
  }

  return {
    pick(x, tried) {
      const key = x === undefined ? -1 : readKey(x)
      if (key < 0) return keyless.pick(x, tried)
      for (let i = 0; i < PROBES; i++) {
        const node = nodeOf(mix((key + Math.imul(i, STRIDE)) | 0) & (SLOTS - 1))
        if (node !== tried) return node
      }
      return nodes[0] === tried ? nodes[1] : nodes[0]
    },
  }
}

/** Number of cached slots as a power of two, in bits. */
function toIndexBits(nodes: number): number {
  return Math.min(Math.log2(SLOTS), Math.ceil(Math.log2(nodes * CACHED_PER_NODE)))
}

function createMemory(length: number, limit: number): Uint16Array | Uint32Array {
  return limit <= 2 ** 16 ? new Uint16Array(length) : new Uint32Array(length)
}

/** Creates the function that hashes the key of a request; it returns -1 without a key. */
export function createKeyReader({ from, name }: HashSource): (x: Exchange) => number {
  if (from === 'path') return ({ path }) => hashText(path, 0, path.length)
  if (from === 'ip') {
    return ({ clientAddress }) =>
      clientAddress === '' ? -1 : hashText(clientAddress, 0, clientAddress.length)
  }
  if (from === 'header') {
    return ({ headers }) => {
      const value = headers.get(name)
      return value === undefined || value === '' ? -1 : hashText(value, 0, value.length)
    }
  }
  const span: CookieSpan = { text: '', from: 0, to: 0 }
  return ({ headers }) => {
    const found = findCookie(headers, name, span) && span.to > span.from
    return found ? hashText(span.text, span.from, span.to) : -1
  }
}

/** FNV-1a hash of the characters `from` up to `to`, mixed. 31 bits, so that the result stays a small integer. */
export function hashText(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mix(hash) >>> 1
}

/** The 32-bit finalizer of MurmurHash3: every input bit affects every output bit. Returns a signed integer. */
export function mix(value: number): number {
  let h = value | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
