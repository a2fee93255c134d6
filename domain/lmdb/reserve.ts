import { statfsSync } from 'node:fs'

export interface ReserveOptions {
  /** Name in warnings: `the store`. */
  readonly what: string
  readonly folder: string
  /** Free bytes in the file: LMDB never shrinks it. */
  readonly readFreeBytes: () => number
  readonly onWarning: (message: string) => void
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** Disk space reserved for operators, who need to write records to resolve a full disk. */
export interface Reserve {
  /** Whether a write of this size would use the reserve. */
  readonly isLow: (bytes: () => number) => boolean
}

/** Share of the disk, and maximum: operators write little. */
const SHARE = 1 / 16
const MAX_BYTES = 16 * 1024 * 1024
/** With this margin above the reserve, free space is not checked again for {@link CALM_MS}. */
const FAR_BYTES = 64 * 1024 * 1024
const CALM_MS = 100

export function createReserve(options: ReserveOptions): Reserve {
  const { what, folder, readFreeBytes, onWarning, nowMs = () => performance.now() } = options
  let calmUntilMs = Number.NEGATIVE_INFINITY
  let sinceMs: number | undefined

  /** Bytes available without the reserve, and its size. */
  function readRoom(): { readonly left: number; readonly reserved: number } {
    try {
      const { bavail, blocks, bsize } = statfsSync(folder)
      const reserved = Math.min(MAX_BYTES, blocks * bsize * SHARE)
      const left = bavail * bsize - reserved
      return { left: left >= FAR_BYTES ? left : left + readFreeBytes(), reserved }
    } catch {
      // The system does not report free space.
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
        // With less, the disk would be full again soon.
        const seconds = Math.round((nowMs() - sinceMs) / 1000)
        sinceMs = undefined
        onWarning(`${what} can be written again, after ${seconds} s: ${folder}`)
      }
      return isLow
    },
  }
}
