import type { Exchange } from '../exchange.ts'
import type { Balancer, HashSource } from './balance.ts'
import { type CookieSpan, findCookie } from './cookie.ts'
import type { UpstreamNode } from './node.ts'

/** Table entries: many per node, so that shares come out even. A power of two. */
const SLOTS = 65_536
/** Other slots looked at for a second node, before the list is searched. */
const PROBES = 32
/** 2^32 divided by the golden ratio: spreads successive numbers (Knuth, TAOCP 6.4). */
const STRIDE = 0x9e3779b9

/**
 * The same node for the same key, as long as it is usable.
 *
 * Weighted rendezvous hashing (Thaler and Ravishankar 1998; weights by Schindelhauer
 * and Schomaker 2005) over a table of slots. When a node leaves, its own keys move and
 * no others; when it returns, so do they. A slot is worked out when first asked for, so
 * that building is cheap and a choice is one look into the table. Requests without a key
 * are left to `keyless`.
 */
export function createHash(
  source: HashSource,
  nodes: readonly UpstreamNode[],
  keyless: Balancer,
): Balancer {
  if (nodes.length < 2) return keyless
  /** Index of the node plus 1; 0: not worked out yet. */
  const table = new Uint32Array(SLOTS)
  const seeds = Uint32Array.from(nodes, ({ id }) => hashText(id, 0, id.length))
  const weights = Float64Array.from(nodes, ({ weight }) => weight)
  const readKey = createKeyReader(source)

  const nodeOf = (slot: number): UpstreamNode => {
    let index = table[slot]!
    if (index === 0) {
      let best = Number.POSITIVE_INFINITY
      for (let i = 0; i < nodes.length; i++) {
        // Uniform in (0, 1), so that -ln(u)/w is exponential with rate w: the smallest of them belongs to i with probability w_i / sum of w.
        const u = ((mix(seeds[i]! ^ Math.imul(slot + 1, STRIDE)) >>> 0) + 0.5) / 2 ** 32
        const score = -Math.log(u) / weights[i]!
        if (score < best) {
          best = score
          index = i + 1
        }
      }
      table[slot] = index
    }
    return nodes[index - 1]!
  }

  return {
    pick(x, tried) {
      const key = readKey(x)
      if (key < 0) return keyless.pick(x, tried)
      for (let i = 0; i < PROBES; i++) {
        const node = nodeOf(mix((key + Math.imul(i, STRIDE)) | 0) & (SLOTS - 1))
        if (node !== tried) return node
      }
      return nodes[0] === tried ? nodes[1] : nodes[0]
    },
  }
}

/** The hash of a request's key, or -1 when it has none. */
function createKeyReader({ from, name }: HashSource): (x: Exchange) => number {
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

/** FNV-1a over the characters `from` to before `to`, mixed. 31 bits, so that it is a small integer. */
function hashText(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mix(hash) >>> 1
}

/** The finalizer of MurmurHash3 (32 bits): every bit of the input moves every bit of the result. A signed integer. */
function mix(value: number): number {
  let h = value | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
