import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'

/** The table of readers, in whole pages (LMDB's `mdb.c`: MDB_txninfo and 125 MDB_reader). */
const LOCK_BYTES = 12 * 1024
/** What a new file of data takes before there is anything in it, and more. */
const ROOM_BYTES = 256 * 1024
const BLOCK_BYTES = 512

/**
 * Makes the file in which LMDB notes readers, or fills its holes: it is mapped into memory, and on a full disk the first touch of
 * a hole would end the process.
 *
 * @param isNew whether the file of data has yet to be made: then there must be room for that, too.
 * @throws {Error} ENOSPC
 */
export function reserveLock(file: string, isNew: boolean): void {
  const descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { size, blocks } = fstatSync(descriptor)
    if (!isNew && size >= LOCK_BYTES && blocks * BLOCK_BYTES >= size) return
    const bytes = Buffer.alloc(Math.max(size, isNew ? ROOM_BYTES : LOCK_BYTES))
    readSync(descriptor, bytes, 0, size, 0)
    writeFileSync(descriptor, bytes)
    ftruncateSync(descriptor, Math.max(size, LOCK_BYTES))
  } catch (error) {
    if (isNew) rmSync(file, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}
