import { statfsSync } from 'node:fs'
import { storeAway, storeFull } from '../../../core/store/errors.ts'

/** ENOSPC, EDQUOT, EFBIG of errno.h, and LMDB's own: the map, or a transaction, is full. */
const FULL = new Set([28, 122, 27, -30792, -30788])
/** EIO, which is also what LMDB says of a write that was cut short. */
const IO_ERROR = 5
/** With less than this free, a write that was cut short was so for want of room. */
const LITTLE_ROOM_BYTES = 16 * 1024 * 1024

/** Why a transaction failed, for callers. */
export function toStoreError(error: unknown, folder: string): Error {
  const { code } = error as { readonly code?: unknown }
  if (FULL.has(code as number) || (code === IO_ERROR && hasLittleRoom(folder)))
    return storeFull(error)
  return storeAway(error)
}

function hasLittleRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize < LITTLE_ROOM_BYTES
  } catch {
    return false
  }
}
