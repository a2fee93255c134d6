import type { UpstreamNode } from '../node/upstream-node.ts'
import { toCost } from './ewma.ts'
import { createHash } from './hash.ts'
import { createMaglev } from './maglev.ts'
import type { BalanceOptions, Balancer } from './policy.ts'
import { buildSequence, createDraw } from './weighted.ts'

/** Maximum number of draws that avoid a tried node before any other node is used. */
const DRAWS = 8
const NO_NODES: Balancer = { pick: () => undefined }

/** Creates the balancer for `nodes`. */
export function createBalancer(
  { kind, hashOf = { from: 'ip', name: '' } }: BalanceOptions,
  nodes: readonly UpstreamNode[],
  randomBits: () => number,
): Balancer {
  if (nodes.length === 0) return NO_NODES
  if (nodes.length === 1) return { pick: () => nodes[0] }
  switch (kind) {
    case 'round-robin':
      return createRoundRobin(nodes)
    case 'random':
      return createRandom(nodes, randomBits)
    case 'p2c':
      return createTwoChoices(nodes, randomBits, isLessBusy)
    case 'least-conn':
      return createLeastConnections(nodes)
    case 'ewma':
      return createTwoChoices(nodes, randomBits, (a, b) => toCost(a) < toCost(b))
    case 'hash':
      return createHash(hashOf, nodes, createRoundRobin(nodes))
    case 'maglev':
      return createMaglev(hashOf, nodes, createRoundRobin(nodes))
  }
}

function createRoundRobin(nodes: readonly UpstreamNode[]): Balancer {
  const [{ weight }] = nodes as [UpstreamNode]
  return nodes.every((node) => node.weight === weight)
    ? createTurns(nodes)
    : createWeightedTurns(nodes)
}

function createTurns(nodes: readonly UpstreamNode[]): Balancer {
  const { length } = nodes
  let next = 0
  return {
    pick(_x, tried) {
      for (;;) {
        const node = nodes[next]!
        next = next + 1 === length ? 0 : next + 1
        if (node !== tried) return node
      }
    },
  }
}

function createWeightedTurns(nodes: readonly UpstreamNode[]): Balancer {
  const sequence = buildSequence(nodes)
  const { length } = sequence
  let next = 0
  return {
    pick(_x, tried) {
      for (;;) {
        const node = nodes[sequence[next]!]!
        next = next + 1 === length ? 0 : next + 1
        if (node !== tried) return node
      }
    },
  }
}

function createRandom(nodes: readonly UpstreamNode[], randomBits: () => number): Balancer {
  const draw = createDraw(nodes, randomBits)
  return { pick: (_x, tried) => drawUntried(nodes, draw, tried) }
}

/**
 * Mitzenmacher 2001, "The Power of Two Choices": nearly as good as choosing the least busy node, without scanning or
 * herding.
 */
function createTwoChoices(
  nodes: readonly UpstreamNode[],
  randomBits: () => number,
  isBetter: (a: UpstreamNode, b: UpstreamNode) => boolean,
): Balancer {
  const draw = createDraw(nodes, randomBits)
  return {
    pick(_x, tried) {
      const first = drawUntried(nodes, draw, tried)
      const second = drawUntried(nodes, draw, first)
      return second !== tried && isBetter(second, first) ? second : first
    },
  }
}

function createLeastConnections(nodes: readonly UpstreamNode[]): Balancer {
  // Ties use round-robin, so that an idle service does not only use its first node.
  const roundRobin = createRoundRobin(nodes)
  return {
    pick(x, tried) {
      let best = roundRobin.pick(x, tried)!
      for (let i = 0; i < nodes.length; i++) {
        const node = nodes[i]!
        if (isLessBusy(node, best) && node !== tried) best = node
      }
      return best
    },
  }
}

/** Whether `a` has fewer requests in flight than `b`, relative to their weights. */
function isLessBusy(a: UpstreamNode, b: UpstreamNode): boolean {
  return a.active * b.weight < b.active * a.weight
}

/** Draws a node that is not in `tried`. Requires at least two nodes. */
function drawUntried(
  nodes: readonly UpstreamNode[],
  draw: () => number,
  tried: UpstreamNode | undefined,
): UpstreamNode {
  for (let i = 0; i < DRAWS; i++) {
    const node = nodes[draw()]!
    if (node !== tried) return node
  }
  const index = draw()
  return nodes[index] === tried ? nodes[(index + 1) % nodes.length]! : nodes[index]!
}
