/** Who may hold a connection open for a question that waits. */
export interface Slots {
  /** Whether there was a place; false: ask without waiting, and again after {@link Slots.pollMs}. */
  readonly take: () => boolean
  readonly release: () => void
  /** Milliseconds until one without a place asks again. */
  readonly pollMs: () => number
  /** One more, or one less, who has no place. */
  readonly countPolling: (change: 1 | -1) => void
}

/** Most questions a second of all who poll. */
const POLLS_PER_SECOND = 50

/**
 * @param places questions that may wait at once.
 * @param minPollMs shortest pause between two questions of one that has no place.
 * @param onFull told once, when the first one gets no place.
 */
export function createSlots(places: number, minPollMs: number, onFull: () => void): Slots {
  let free = places
  let polling = 0
  let told = false
  return {
    take() {
      if (free > 0) {
        free--
        return true
      }
      if (!told) onFull()
      told = true
      return false
    },
    release() {
      free++
    },
    pollMs: () => Math.max(minPollMs, (polling / POLLS_PER_SECOND) * 1000),
    countPolling(change) {
      polling += change
    },
  }
}
