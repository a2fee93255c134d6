import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Behind the header of its first page (LMDB: `mdb.c`, MDB_meta). */
const MAGIC_AT = 24
const MAGIC = 0xbeefc0de
const PAGE_SIZE_AT = 48
const HEAD_BYTES = 52

/**
 * Refuses a file that is not one of LMDB's: mapped into memory, it would end the process. One that is not there, or is empty, is new.
 *
 * @throws {Error} saying what is wrong.
 */
export function checkFile(file: string): void {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  try {
    const { size } = fstatSync(descriptor)
    if (size === 0) return
    const head = Buffer.alloc(HEAD_BYTES)
    readSync(descriptor, head, 0, HEAD_BYTES, 0)
    if (head.readUInt32LE(MAGIC_AT) !== MAGIC) throw new Error(`${file} is not a file of LMDB`)
    // Two pages tell which the others are.
    if (size < 2 * head.readUInt32LE(PAGE_SIZE_AT)) throw new Error(`${file} is cut off`)
  } finally {
    closeSync(descriptor)
  }
}
