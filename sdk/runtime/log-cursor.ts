/** Range of log lines, as requested from the `runtime` service. */
export interface LogRange {
  /** Number of most recent lines; 0 for all. */
  readonly count: number
  /** Start in Unix seconds; 0 for the oldest line. */
  readonly since: number
}

/** Position in a log, to resume an interrupted stream. */
export interface LogPosition {
  /** Range to request. */
  readonly toRequest: () => LogRange
  /** True for a line not seen before. @param line line with its Unix time in milliseconds. */
  readonly isNew: (line: { readonly timestamp: number }) => boolean
}

/** @param first initial range. */
export function createLogPosition(first: LogRange): LogPosition {
  let firstMs = Number.POSITIVE_INFINITY
  /** Time of the newest line. Lines of several instances are not in strict order. */
  let lastMs = 0
  /** Lines seen per millisecond within the newest second, where the next request starts. */
  const counts = new Map<number, number>()
  /** Lines to skip in the next stream. */
  const remainingDuplicates = new Map<number, number>()

  return {
    toRequest() {
      remainingDuplicates.clear()
      for (const [ms, lines] of counts) remainingDuplicates.set(ms, lines)
      return lastMs === 0 ? first : { count: 0, since: toSecond(lastMs) }
    },

    isNew({ timestamp }) {
      const skipCount = remainingDuplicates.get(timestamp)
      if (skipCount !== undefined) {
        if (skipCount > 1) remainingDuplicates.set(timestamp, skipCount - 1)
        else remainingDuplicates.delete(timestamp)
        return false
      }
      // Skips earlier lines of the second in which the stream started.
      if (remainingDuplicates.size > 0 && timestamp < firstMs) return false
      firstMs = Math.min(firstMs, timestamp)
      if (toSecond(timestamp) > toSecond(lastMs)) counts.clear()
      lastMs = Math.max(lastMs, timestamp)
      if (toSecond(timestamp) === toSecond(lastMs))
        counts.set(timestamp, (counts.get(timestamp) ?? 0) + 1)
      return true
    },
  }
}

function toSecond(ms: number): number {
  return Math.floor(ms / 1000)
}
