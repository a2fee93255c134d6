import { isAlmostFull, isDiskFull, readRoom } from './disk-space.ts'

/** Tracks whether a file can be written. The start and the end of a failure are reported once. */
export interface Failures {
  readonly onFailure: (error: unknown) => void
  readonly onSuccess: () => void
  /**
   * Returns the cause while the disk is known to be full, to avoid futile writes, or undefined if a
   * write should be tried.
   */
  readonly findReason: () => unknown
}

export interface FailuresOptions {
  /** Name used in messages, such as `the store`. */
  readonly what: string
  readonly folder: string
  readonly onWarning: (message: string) => void
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** Time without failures after which the end is reported if the free space is unknown. */
const CALM_MS = 10_000
/**
 * Time until writes are retried on a full disk, unless space is freed. LMDB itself logs each
 * failure to standard error.
 */
const PAUSE_MS = 2000

export function createFailures(options: FailuresOptions): Failures {
  const { what, folder, onWarning, nowMs = () => performance.now() } = options
  let sinceMs: number | undefined
  let lastMs = 0
  /**
   * On an almost full disk, small writes still succeed. If they alternate with failures, each
   * change would be reported.
   */
  let isOutOfSpace = false
  let reason: unknown
  let room = 0

  return {
    onFailure(error) {
      lastMs = nowMs()
      reason = isDiskFull(error, folder) ? error : undefined
      room = readRoom(folder)
      if (sinceMs !== undefined) return
      sinceMs = lastMs
      isOutOfSpace = isAlmostFull(folder)
      const { message } = error as Error
      onWarning(
        reason === undefined
          ? `${what} is not writable in ${folder}; writes are rejected until it is: ${message}`
          : `${what} is full: no space left in ${folder}; writes are rejected until space is free`,
      )
    },

    onSuccess() {
      reason = undefined
      if (sinceMs === undefined) return
      const hasEnded = isOutOfSpace ? !isAlmostFull(folder) : nowMs() - lastMs >= CALM_MS
      if (!hasEnded) return
      const seconds = Math.round((nowMs() - sinceMs) / 1000)
      sinceMs = undefined
      onWarning(`${what} is writable again after ${seconds} s: ${folder}`)
    },

    findReason() {
      if (reason === undefined) return undefined
      if (nowMs() - lastMs >= PAUSE_MS || readRoom(folder) > room) reason = undefined
      return reason
    },
  }
}
