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

/**
 * Size of the reader table rounded up to pages (LMDB's `mdb.c`: MDB_txninfo and 125 MDB_reader).
 */
const LOCK_BYTES = 12 * 1024
/** Upper limit for the size of a new, empty data file. */
const ROOM_BYTES = 256 * 1024
const BLOCK_BYTES = 512

/**
 * Creates LMDB's lock file or fills its holes. The file is memory-mapped, so on a full disk, the
 * first access to a hole would kill the process.
 *
 * @param isNew whether the data file is also created and needs space.
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
