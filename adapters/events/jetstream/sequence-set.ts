/** First and last of consecutive sequences. */
export type SequenceRange = readonly [from: number, to: number]

/** Set of sequences starting at 1, stored as ranges. */
export interface SequenceSet {
  readonly ranges: readonly SequenceRange[]
  /** All sequences up to and including this one are in the set. */
  readonly floor: number
  readonly has: (sequence: number) => boolean
  /** Does nothing if `to` is less than `from`. */
  readonly add: (from: number, to?: number) => void
}

export function createSequenceSet(): SequenceSet {
  const ranges: [number, number][] = []

  /** Index of the first range that ends at or after the sequence. */
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
      // Adjacent ranges are merged.
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

/** Returns an empty list for malformed text. */
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
