import { compareKeys } from '../../../domain/store/compare-keys.ts'

/** A sorted set of keys. */
export interface SortedKeys {
  /** Adds a key that must be absent. */
  readonly add: (key: string) => void
  /** Removes a key that must be present. */
  readonly delete: (key: string) => void
  /**
   * Iterates over the keys in [from, to) in either direction. Undefined bounds are unlimited. The
   * set must not change during the iteration.
   */
  readonly walk: (
    from: string | undefined,
    to: string | undefined,
    reverse: boolean,
  ) => Iterable<string>
}

/**
 * Maximum length of a block before it is split. An insertion moves half a block on average, and
 * finding a block is a binary search.
 */
const MAX_BLOCK = 512

/**
 * Stores keys in sorted blocks, so that insertions and deletions cost little more than a binary
 * search even with millions of keys.
 */
export function createSortedKeys(): SortedKeys {
  /** There are no empty blocks. */
  const blocks: string[][] = []

  /**
   * Returns the index of the last block that starts at or before a key, or 0 if all blocks start
   * after it.
   */
  const findBlock = (key: string): number =>
    Math.max(0, search(blocks.length, (i) => compareKeys(blocks[i]![0]!, key) > 0) - 1)

  return {
    add(key) {
      if (blocks.length === 0) {
        blocks.push([key])
        return
      }
      const at = findBlock(key)
      const block = blocks[at]!
      block.splice(findIn(block, key), 0, key)
      if (block.length > MAX_BLOCK) blocks.splice(at + 1, 0, block.splice(MAX_BLOCK / 2))
    },

    delete(key) {
      const at = findBlock(key)
      const block = blocks[at]!
      block.splice(findIn(block, key), 1)
      if (block.length === 0) blocks.splice(at, 1)
    },

    *walk(from, to, reverse) {
      if (blocks.length === 0) return
      const step = reverse ? -1 : 1
      const bound = reverse ? to : from
      let at = bound === undefined ? (reverse ? blocks.length - 1 : 0) : findBlock(bound)
      let i = bound === undefined ? (reverse ? blocks[at]!.length : 0) : findIn(blocks[at]!, bound)
      if (reverse) i--
      for (; at >= 0 && at < blocks.length; at += step) {
        const block = blocks[at]!
        for (; i >= 0 && i < block.length; i += step) {
          const key = block[i]!
          if (reverse && from !== undefined && compareKeys(key, from) < 0) return
          if (!reverse && to !== undefined && compareKeys(key, to) >= 0) return
          yield key
        }
        i = reverse ? (blocks[at - 1]?.length ?? 0) - 1 : 0
      }
    },
  }
}

/** Returns the index of the first key in a block that is not less than `key`. */
function findIn(block: readonly string[], key: string): number {
  return search(block.length, (i) => compareKeys(block[i]!, key) >= 0)
}

/**
 * Returns the first index for which a monotonic condition is true, or `length` if it is never true
 * (binary search).
 */
function search(length: number, condition: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (condition(middle)) high = middle
    else low = middle + 1
  }
  return low
}
