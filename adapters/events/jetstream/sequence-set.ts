/** Sequences without a gap: the first and the last. */
export type SequenceRange = readonly [from: number, to: number]

/** Sequences, from 1 on, as few ranges as there can be. */
export interface SequenceSet {
  readonly ranges: readonly SequenceRange[]
  /** Every sequence up to this one is there. */
  readonly floor: number
  readonly has: (sequence: number) => boolean
  /** Nothing, when `to` is before `from`. */
  readonly add: (from: number, to?: number) => void
}

export function createSequenceSet(): SequenceSet {
  const ranges: [number, number][] = []

  /** The first range that ends with the sequence or behind it. */
  function find(sequence: number): number {
    let low = 0
    let high = ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (ranges[middle]![1] < sequence) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    ranges,

    get floor() {
      const first = ranges[0]
      return first?.[0] === 1 ? first[1] : 0
    },

    has(sequence) {
      const range = ranges[find(sequence)]
      return range !== undefined && range[0] <= sequence
    },

    add(from, to = from) {
      if (to < from) return
      // Neighbours become one.
      const start = find(from - 1)
      let end = start
      let low = from
      let high = to
      for (; end < ranges.length && ranges[end]![0] <= to + 1; end++) {
        low = Math.min(low, ranges[end]![0])
        high = Math.max(high, ranges[end]![1])
      }
      ranges.splice(start, end - start, [low, high])
    },
  }
}

export function formatRanges(ranges: readonly SequenceRange[]): string {
  return JSON.stringify(ranges)
}

/** What is none of ours has none. */
export function parseRanges(text: string): readonly SequenceRange[] {
  try {
    const ranges: unknown = JSON.parse(text)
    return Array.isArray(ranges) ? ranges.filter(isRange) : []
  } catch {
    return []
  }
}

function isRange(range: unknown): range is SequenceRange {
  return (
    Array.isArray(range) &&
    range.length === 2 &&
    range.every((end) => Number.isSafeInteger(end) && end > 0)
  )
}
