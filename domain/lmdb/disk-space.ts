import { statfsSync } from 'node:fs'

/** ENOSPC, EDQUOT, EFBIG of errno.h, and LMDB's own: the map, or a transaction, is full. */
const FULL = new Set([28, 122, 27, -30792, -30788])
/** EIO, which is also what LMDB says of a write that was cut short. */
export const IO_ERROR = 5
/** With less than this free, a write that was cut short was so for want of room. */
const LITTLE_ROOM_BYTES = 16 * 1024 * 1024

/** Whether a transaction failed for want of room in the folder of its file. */
export function isDiskFull(error: unknown, folder: string): boolean {
  const { code } = error as { readonly code?: unknown }
  return FULL.has(code as number) || (code === IO_ERROR && hasLittleRoom(folder))
}

/** Whether there is so little room in a folder that a write may not fit. */
export function hasLittleRoom(folder: string): boolean {
  return readRoom(folder) < LITTLE_ROOM_BYTES
}

/** Bytes a folder has room for; as many as you like where the system does not tell. */
export function readRoom(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
