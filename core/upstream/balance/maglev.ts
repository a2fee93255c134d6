import type { UpstreamNode } from '../node/upstream-node.ts'
import { createKeyReader, hashText, mix } from './hash.ts'
import type { Balancer, HashSource } from './policy.ts'

/** Prime number of slots, which provides at least a hundred slots for each of 655 nodes. */
const SLOTS = 65_537
const PROBES = 32

/**
 * Maps each key to the same node as long as the nodes do not change, with a single array read (Maglev hashing, Eisenbud
 * et al. 2016). Node shares are more even than with `hash`, but when a node leaves, a few keys of other nodes also
 * move. Requests without a key use `keyless`.
 */
export function createMaglev(
  source: HashSource,
  nodes: readonly UpstreamNode[],
  keyless: Balancer,
): Balancer {
  const readKey = createKeyReader(source)
  /** Built on first use, since nodes may change more often than they are used. */
  let table: Uint16Array | Uint32Array | undefined
  return {
    pick(x, tried) {
      const key = x === undefined ? -1 : readKey(x)
      if (key < 0) return keyless.pick(x, tried)
      table ??= buildTable(nodes)
      for (let i = 0; i < PROBES; i++) {
        const node = nodes[table[(mix(key + i) >>> 0) % SLOTS]!]!
        if (node !== tried) return node
      }
      return keyless.pick(x, tried)
    },
  }
}

/** Nodes take turns to claim slots, each by its own permutation, and more often with a larger weight. */
function buildTable(nodes: readonly UpstreamNode[]): Uint16Array | Uint32Array {
  const table = nodes.length < 65_535 ? new Uint16Array(SLOTS) : new Uint32Array(SLOTS)
  const isAssigned = new Uint8Array(SLOTS)
  const maxWeight = nodes.reduce((max, { weight }) => Math.max(max, weight), 1)
  const schedules = nodes.map(({ id, weight }) => {
    const hash = hashText(id, 0, id.length)
    return {
      at: hash % SLOTS,
      step: ((mix(hash) >>> 0) % (SLOTS - 1)) + 1,
      /**
       * Number of rounds between two turns, and before the first, so that nodes with equal weight are spread evenly.
       */
      every: maxWeight / weight,
      next: (hash / 2 ** 31) * (maxWeight / weight),
    }
  })
  /** Nodes by the round of their next turn. If one weight is large, few nodes have a turn in most rounds. */
  const byRound = new Map<number, number[]>()
  const plan = (index: number): void => {
    const round = Math.floor(schedules[index]!.next)
    const indexesOfRound = byRound.get(round)
    if (indexesOfRound === undefined) byRound.set(round, [index])
    else indexesOfRound.push(index)
  }
  for (const index of schedules.keys()) plan(index)
  for (let round = 0, remaining = SLOTS; ; round++) {
    const indexes = byRound.get(round) ?? []
    byRound.delete(round)
    for (const index of indexes) {
      const schedule = schedules[index]!
      while (isAssigned[schedule.at] === 1) schedule.at = (schedule.at + schedule.step) % SLOTS
      isAssigned[schedule.at] = 1
      table[schedule.at] = index
      if (--remaining === 0) return table
      schedule.next += schedule.every
      plan(index)
    }
  }
}
