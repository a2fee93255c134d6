import { hasLittleRoom, isDiskFull, readRoom } from './disk-space.ts'

/** What is known of a file that cannot be written. It is told once when that begins, and once when it is over. */
export interface Failures {
  readonly onFailure: (error: unknown) => void
  readonly onSuccess: () => void
  /** Why there is no room, while trying again would only show that once more; undefined: try. */
  readonly findReason: () => unknown
}

export interface FailuresOptions {
  /** `the store`. */
  readonly what: string
  readonly folder: string
  readonly onWarning: (message: string) => void
  /** Milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** How long nothing fails until it is over, where the disk does not tell. */
const CALM_MS = 10_000
/** Until when nothing is tried that needs room, unless there is more: LMDB writes to standard error itself whenever there is none. */
const PAUSE_MS = 2000

export function createFailures(options: FailuresOptions): Failures {
  const { what, folder, onWarning, nowMs = () => performance.now() } = options
  let sinceMs: number | undefined
  let lastMs = 0
  /** Of a disk that is nearly full, small writes still succeed: in turns with others, they would be told each time. */
  let isForRoom = false
  let reason: unknown
  let room = 0

  return {
    onFailure(error) {
      lastMs = nowMs()
      reason = isDiskFull(error, folder) ? error : undefined
      room = readRoom(folder)
      if (sinceMs !== undefined) return
      sinceMs = lastMs
      isForRoom = hasLittleRoom(folder)
      const { message } = error as Error
      onWarning(
        reason === undefined
          ? `${what} cannot be written in ${folder}, and writing is refused until it can: ${message}`
          : `${what} is full: no space left in ${folder}; writes are rejected until space is free`,
      )
    },

    onSuccess() {
      reason = undefined
      if (sinceMs === undefined) return
      const isOver = isForRoom ? !hasLittleRoom(folder) : nowMs() - lastMs >= CALM_MS
      if (!isOver) return
      const seconds = Math.round((nowMs() - sinceMs) / 1000)
      sinceMs = undefined
      onWarning(`${what} can be written again, after ${seconds} s: ${folder}`)
    },

    findReason() {
      if (reason === undefined) return undefined
      if (nowMs() - lastMs >= PAUSE_MS || readRoom(folder) > room) reason = undefined
      return reason
    },
  }
}
