import { statfsSync } from 'node:fs'

export interface ReserveOptions {
  /** `the store`, for warnings. */
  readonly what: string
  readonly folder: string
  /** Bytes of the file that can be used again: LMDB never makes it shorter. */
  readonly readFreeBytes: () => number
  readonly onWarning: (message: string) => void
  /** Milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** Room on a disk that is left when it is full for most: for records operators need to act. */
export interface Reserve {
  /** Whether writing so many bytes would use the reserve. */
  readonly isLow: (bytes: () => number) => boolean
}

/** Of the disk, and at most: operators write little. */
const SHARE = 1 / 16
const MAX_BYTES = 16 * 1024 * 1024
/** With this much more than the reserve, the disk is not looked at again for {@link CALM_MS}. */
const FAR_BYTES = 64 * 1024 * 1024
const CALM_MS = 100

export function createReserve(options: ReserveOptions): Reserve {
  const { what, folder, readFreeBytes, onWarning, nowMs = () => performance.now() } = options
  let calmUntilMs = Number.NEGATIVE_INFINITY
  let sinceMs: number | undefined

  /** Bytes that may be written beside the reserve, and those of the reserve. */
  function readRoom(): { readonly left: number; readonly reserved: number } {
    try {
      const { bavail, blocks, bsize } = statfsSync(folder)
      const reserved = Math.min(MAX_BYTES, blocks * bsize * SHARE)
      const left = bavail * bsize - reserved
      return { left: left >= FAR_BYTES ? left : left + readFreeBytes(), reserved }
    } catch {
      // The system does not say.
      return { left: Number.POSITIVE_INFINITY, reserved: 0 }
    }
  }

  return {
    isLow(bytes) {
      if (nowMs() < calmUntilMs) return false
      const { left, reserved } = readRoom()
      if (left >= FAR_BYTES) calmUntilMs = nowMs() + CALM_MS
      const isLow = left < FAR_BYTES && left < bytes()
      if (isLow && sinceMs === undefined) {
        sinceMs = nowMs()
        onWarning(
          `${what} is full: no space left in ${folder}; writes are rejected until space is free`,
        )
      } else if (!isLow && sinceMs !== undefined && left >= reserved) {
        // With less than that it soon would be full again.
        const seconds = Math.round((nowMs() - sinceMs) / 1000)
        sinceMs = undefined
        onWarning(`${what} can be written again, after ${seconds} s: ${folder}`)
      }
      return isLow
    },
  }
}
