import type { LogMessage } from './log-buffer.ts'

/** How far a log was read, so that a stream that was lost goes on where it ended. */
export interface LogPosition {
  /** What to ask the service for. */
  readonly toRequest: () => { readonly count: number; readonly since: number }
  /** Whether a line was not there before. */
  readonly isNew: (message: LogMessage) => boolean
}

/** @param count lines to begin with. */
export function createLogPosition(count: number): LogPosition {
  let lastMs = 0
  /** Lines of that millisecond. */
  let seen = 0
  /** Of those, how many the stream is still to tell again. */
  let toSkip = 0

  return {
    toRequest() {
      toSkip = seen
      return lastMs === 0 ? { count, since: 0 } : { count: 0, since: Math.floor(lastMs / 1000) }
    },

    isNew({ timestamp }) {
      if (timestamp < lastMs && toSkip > 0) return false
      if (timestamp === lastMs && toSkip > 0) {
        toSkip--
        return false
      }
      toSkip = 0
      seen = timestamp === lastMs ? seen + 1 : 1
      lastMs = timestamp
      return true
    },
  }
}
