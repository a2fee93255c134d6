import type { UpstreamNode } from '../node/upstream-node.ts'

/** Maximum sequence length; larger weights are rounded to fit. */
const MAX_LENGTH = 16_384
const BITS = 2 ** 32
/**
 * Factor that combines a position and a node index into one number, which sorts three times as fast. Different
 * positions differ by at least 2^-29.
 */
const POSITION_FACTOR = 2 ** 33
const MAX_NODES = 2 ** 20

/**
 * Builds the sequence of node indexes of smooth weighted round-robin.
 *
 * The k-th turn of a node with weight w has position (k + 1/2) / w in the round. Sorting the positions spreads the
 * turns evenly, without work per request.
 */
export function buildSequence(nodes: readonly UpstreamNode[]): Uint32Array {
  const weights = nodes.map(({ weight }) => weight)
  const divisor = weights.reduce(greatestCommonDivisor, 0)
  const total = weights.reduce((sum, weight) => sum + weight, 0) / divisor
  const scale = total > MAX_LENGTH ? MAX_LENGTH / total / divisor : 1 / divisor
  const counts = weights.map((weight) => Math.max(1, Math.round(weight * scale)))
  const turns = new Float64Array(counts.reduce((sum, count) => sum + count, 0))
  let length = 0
  for (const [index, count] of counts.entries())
    for (let k = 0; k < count; k++)
      turns[length++] = Math.floor(((k + 0.5) / count) * POSITION_FACTOR) * MAX_NODES + index
  turns.sort()
  return new Uint32Array(turns.map((turn) => turn % MAX_NODES))
}

/**
 * Creates a generator of 32 random bits as signed integers, which, unlike fractions, need no allocation (xorshift32,
 * Marsaglia 2003). Not cryptographically secure.
 */
export function createRandomBits(seed: number = Math.random() * 2 ** 32): () => number {
  // 0 is a fixed point of the generator.
  let state = seed | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state
  }
}

/**
 * Draws node indexes with a probability proportional to their weight, in two array reads (alias method, Vose 1991).
 * Requires at least one node.
 */
export function createDraw(nodes: readonly UpstreamNode[], randomBits: () => number): () => number {
  const { length } = nodes
  const total = nodes.reduce((sum, { weight }) => sum + weight, 0)
  /** Share of column i that belongs to node i; the rest belongs to `alias[i]`. */
  const share = Float64Array.from(nodes, ({ weight }) => (weight * length) / total)
  const alias = Uint32Array.from(nodes, (_, i) => i)
  const small: number[] = []
  const large: number[] = []
  for (const [i, part] of share.entries()) (part < 1 ? small : large).push(i)
  while (small.length > 0 && large.length > 0) {
    const less = small.pop()!
    const more = large.pop()!
    alias[less] = more
    share[more] = share[more]! - (1 - share[less]!)
    ;(share[more] < 1 ? small : large).push(more)
  }
  return () => {
    const column = Math.floor(((randomBits() >>> 0) / BITS) * length)
    return (randomBits() >>> 0) / BITS < share[column]! ? column : alias[column]!
  }
}

/** Draws a node with a probability proportional to its weight, without a table. Returns undefined without nodes. */
export function pickWeighted(
  nodes: readonly UpstreamNode[],
  randomBits: () => number,
): UpstreamNode | undefined {
  const total = nodes.reduce((sum, { weight }) => sum + weight, 0)
  let remaining = ((randomBits() >>> 0) / BITS) * total
  return nodes.find(({ weight }) => {
    remaining -= weight
    return remaining < 0
  })
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
