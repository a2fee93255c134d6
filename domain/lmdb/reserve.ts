import { statfsSync } from 'node:fs'

export interface ReserveOptions {
  /** Name used in warnings, such as `the store`. */
  readonly what: string
  readonly folder: string
  /** Returns the number of free bytes in the file, because LMDB never shrinks it. */
  readonly readFreeBytes: () => number
  readonly onWarning: (message: string) => void
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly nowMs?: () => number
}

/** Disk space reserved for operators, who must be able to write records to resolve a full disk. */
export interface Reserve {
  /** Returns whether a write of this size would use the reserve. */
  readonly isLow: (bytes: () => number) => boolean
}

/** Share of the disk, and maximum size. Operators write little. */
const SHARE = 1 / 16
const MAX_BYTES = 16 * 1024 * 1024
/**
 * If the free space exceeds the reserve by this margin, it is not checked again for {@link
 * CALM_MS}.
 */
const FAR_BYTES = 64 * 1024 * 1024
const CALM_MS = 100

export function createReserve(options: ReserveOptions): Reserve {
  const { what, folder, readFreeBytes, onWarning, nowMs = () => performance.now() } = options
  let calmUntilMs = Number.NEGATIVE_INFINITY
  let sinceMs: number | undefined

  /** Returns the number of bytes available without the reserve, and the size of the reserve. */
  function readRoom(): { readonly available: number; readonly reserved: number } {
    try {
      const { bavail, blocks, bsize } = statfsSync(folder)
      const reserved = Math.min(MAX_BYTES, blocks * bsize * SHARE)
      const available = bavail * bsize - reserved
      return {
        available: available >= FAR_BYTES ? available : available + readFreeBytes(),
        reserved,
      }
    } catch {
      // The system does not report free space.
      return { available: Number.POSITIVE_INFINITY, reserved: 0 }
    }
  }

  return {
    isLow(bytes) {
      if (nowMs() < calmUntilMs) return false
      const { available, reserved } = readRoom()
      if (available >= FAR_BYTES) calmUntilMs = nowMs() + CALM_MS
      const isLow = available < FAR_BYTES && available < bytes()
      if (isLow && sinceMs === undefined) {
        sinceMs = nowMs()
        onWarning(
          `${what} is full: no space left in ${folder}; writes are rejected until space is free`,
        )
      } else if (!isLow && sinceMs !== undefined && available >= reserved) {
        // With less free space, the disk would soon be full again.
        const seconds = Math.round((nowMs() - sinceMs) / 1000)
        sinceMs = undefined
        onWarning(`${what} is writable again after ${seconds} s: ${folder}`)
      }
      return isLow
    },
  }
}
