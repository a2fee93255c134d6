import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { isIntact } from './check-tree.ts'

// MDB_meta in LMDB's `mdb.c`, after the header of the first and the second page.
const MAGIC_AT = 24
const MAGIC = 0xbeefc0de
const PAGE_SIZE_AT = 48
const ROOTS_AT = [88, 136] as const
const LAST_PAGE_AT = 144
const TRANSACTION_AT = 152
const BOOT_AT = 160
const META_BYTES = 168
const BOOT_FILE = '/proc/sys/kernel/random/boot_id'

/** Meta page, which contains the state of the file after a transaction. */
interface Meta {
  readonly roots: readonly bigint[]
  readonly lastPage: number
  readonly transaction: bigint
  /** Boot id of the machine at the time of the transaction, as a number. */
  readonly boot: bigint
}

/**
 * Rejects a file that is not an LMDB file or is truncated, because accessing it through the memory
 * map would kill the process. An empty file is new.
 *
 * @returns whether the file exists and is not empty.
 * @throws {Error} with the reason.
 */
export function checkFile(file: string): boolean {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  try {
    const { size } = fstatSync(descriptor)
    if (size === 0) return false
    const head = read(descriptor, 0, META_BYTES)
    if (head.readUInt32LE(MAGIC_AT) !== MAGIC) throw new Error(`${file} is not an LMDB file`)
    const pageSize = head.readUInt32LE(PAGE_SIZE_AT)
    // Two pages are sufficient to find all others.
    if (size < 2 * pageSize) throw truncated(file, size)
    const metas = [toMeta(head), toMeta(read(descriptor, pageSize, META_BYTES))]
    const [newest, older] = metas.sort((a, b) => Number(b.transaction - a.transaction))
    const pages = Math.floor(size / pageSize)
    if (newest!.lastPage < pages) return true
    // Pages beyond the end of the file may all be free.
    const readPage = (page: number) =>
      page < pages ? read(descriptor, page * pageSize, pageSize) : undefined
    const isReadable = ({ roots }: Meta): boolean => isIntact(roots, readPage, pages)
    // After a restart of the machine, LMDB returns to the last synced state.
    if (isReadable(newest!) || (newest!.boot !== readBoot() && isReadable(older!))) return true
    throw truncated(file, size)
  } finally {
    closeSync(descriptor)
  }
}

function read(descriptor: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  readSync(descriptor, bytes, 0, length, at)
  return bytes
}

function toMeta(page: Buffer): Meta {
  return {
    roots: ROOTS_AT.map((at) => page.readBigUInt64LE(at)),
    lastPage: Number(page.readBigUInt64LE(LAST_PAGE_AT)),
    transaction: page.readBigUInt64LE(TRANSACTION_AT),
    boot: page.readBigInt64LE(BOOT_AT),
  }
}

/** Returns the first part of the boot id as a number, like LMDB. */
function readBoot(): bigint {
  try {
    return BigInt(`0x${readFileSync(BOOT_FILE, 'utf8').split('-')[0]}`)
  } catch {
    return 0n
  }
}

function truncated(file: string, size: number): Error {
  return new Error(
    `${file} is truncated: it refers to pages beyond its ${size} bytes; restore it from a backup`,
  )
}
