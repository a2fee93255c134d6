/** Lines of a log as the service `runtime` is asked for them. */
export interface LogRange {
  /** The last so many; 0: all. */
  readonly count: number
  /** Unix seconds; 0: from the oldest that is kept. */
  readonly since: number
}

/** How far a log was read, so that a stream that was lost goes on where it ended. */
export interface LogPosition {
  /** What to ask the service for. */
  readonly toRequest: () => LogRange
  /** Whether a line was not there before. @param line its Unix time in milliseconds. */
  readonly isNew: (line: { readonly timestamp: number }) => boolean
}

/** @param first what to begin with. */
export function createLogPosition(first: LogRange): LogPosition {
  let firstMs = Number.POSITIVE_INFINITY
  /** Of the newest line: those of several copies are not quite in order. */
  let lastMs = 0
  /** How many lines each millisecond has, from that on which is asked for again. */
  const seen = new Map<number, number>()
  /** Of those, the ones the stream is still to tell again. */
  const toSkip = new Map<number, number>()

  return {
    toRequest() {
      toSkip.clear()
      for (const [ms, lines] of seen) toSkip.set(ms, lines)
      return lastMs === 0 ? first : { count: 0, since: toSecond(lastMs) }
    },

    isNew({ timestamp }) {
      const left = toSkip.get(timestamp)
      if (left !== undefined) {
        if (left > 1) toSkip.set(timestamp, left - 1)
        else toSkip.delete(timestamp)
        return false
      }
      // What was before the lines it began with, of the same second.
      if (toSkip.size > 0 && timestamp < firstMs) return false
      firstMs = Math.min(firstMs, timestamp)
      if (toSecond(timestamp) > toSecond(lastMs)) seen.clear()
      lastMs = Math.max(lastMs, timestamp)
      if (toSecond(timestamp) === toSecond(lastMs))
        seen.set(timestamp, (seen.get(timestamp) ?? 0) + 1)
      return true
    },
  }
}

function toSecond(ms: number): number {
  return Math.floor(ms / 1000)
}
