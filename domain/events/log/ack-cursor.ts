/**
 * Acknowledged position of a group: all events up to a sequence, and individual events after it.
 */
export interface Progress {
  /** All events up to this sequence are acknowledged. */
  readonly acked: number
  /** Acknowledged events after that sequence, in no particular order. */
  readonly ahead: ReadonlySet<number>
  readonly isDone: (sequence: number) => boolean
  /** Acknowledges an event. Returns false if it was already acknowledged. */
  readonly finish: (sequence: number) => boolean
  /** Acknowledges all events up to a sequence. */
  readonly skipTo: (sequence: number) => void
}

export function createProgress(from: number, done: Iterable<number> = []): Progress {
  let acked = from
  const ahead = new Set(done)

  function settle(): void {
    while (ahead.delete(acked + 1)) acked++
  }

  settle()
  return {
    get acked() {
      return acked
    },
    ahead,

    isDone: (sequence) => sequence <= acked || ahead.has(sequence),

    finish(sequence) {
      if (sequence <= acked || ahead.has(sequence)) return false
      if (sequence > acked + 1) {
        ahead.add(sequence)
        return true
      }
      acked = sequence
      if (ahead.size > 0) settle()
      return true
    },

    skipTo(sequence) {
      if (sequence <= acked) return
      acked = sequence
      for (const done of ahead) if (done <= sequence) ahead.delete(done)
      settle()
    },
  }
}
