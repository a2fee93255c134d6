/** How far a group is: up to a sequence everything is done, and behind it some events are. */
export interface Progress {
  /** Every event up to this sequence is done with. */
  readonly acked: number
  /** Those behind it that are, in no order. */
  readonly ahead: ReadonlySet<number>
  readonly isDone: (sequence: number) => boolean
  /** The group is done with an event. False: it was already. */
  readonly finish: (sequence: number) => boolean
  /** It is done with all events up to one. */
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
