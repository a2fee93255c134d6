import { compareKeys } from '../../../domain/store/compare-keys.ts'

/** Keys in order. */
export interface SortedKeys {
  /** Adds a key that is not there. */
  readonly add: (key: string) => void
  /** Removes a key that is there. */
  readonly delete: (key: string) => void
  /** Those from `from` on and before `to`, from either end; undefined: no bound. The keys must not change meanwhile. */
  readonly walk: (
    from: string | undefined,
    to: string | undefined,
    reverse: boolean,
  ) => Iterable<string>
}

/** Keys of a block before it is split: adding moves about half of them, finding the block is a search among all blocks. */
const MAX_BLOCK = 512

/** Adds and removes in the time it takes to search, also where there are millions: keys lie in blocks of some hundreds. */
export function createSortedKeys(): SortedKeys {
  /** None is empty. */
  const blocks: string[][] = []

  /** Index of the last block that begins at or before a key; 0 when all begin behind it. */
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

/** Index of the first key of a block at or behind `key`. */
function findIn(block: readonly string[], key: string): number {
  return search(block.length, (i) => compareKeys(block[i]!, key) >= 0)
}

/** The first index for which something holds that holds for all behind it, too; `length` when there is none. */
function search(length: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
