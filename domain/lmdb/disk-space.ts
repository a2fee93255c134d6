import { statfsSync } from 'node:fs'

/** ENOSPC, EDQUOT and EFBIG of errno.h, and LMDB's codes for a full map or transaction. */
const FULL = new Set([28, 122, 27, -30792, -30788])
/** EIO, which LMDB also returns for a short write. */
export const IO_ERROR = 5
/** A short write with less free space than this is attributed to a full disk. */
const LOW_SPACE_BYTES = 16 * 1024 * 1024

/** Returns whether a transaction failed because the disk of its file is full. */
export function isDiskFull(error: unknown, folder: string): boolean {
  const { code } = error as { readonly code?: unknown }
  return FULL.has(code as number) || (code === IO_ERROR && isAlmostFull(folder))
}

/** Returns whether the free space of a folder is so low that a write may not fit. */
export function isAlmostFull(folder: string): boolean {
  return readRoom(folder) < LOW_SPACE_BYTES
}

/** Returns the free space of a folder in bytes, or infinity if the system does not report it. */
export function readRoom(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
