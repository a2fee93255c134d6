import { statfs } from 'node:fs/promises'
import { formatSize } from '../../../lib/text/units.ts'
import { ServiceError } from '../../../sdk/errors.ts'

export interface DiskRoomOptions {
  /** Folder on the monitored disk. The folder or one of its parents must exist. */
  readonly folder: string
  /** Free space in bytes that uploads and builds must leave; 0 disables the limit. */
  readonly minFreeBytes: number
  /** Frees space if the limit is reached. @default no-op */
  readonly freeSpace?: () => Promise<void>
  /** Interval between checks in milliseconds. @default 1000 */
  readonly everyMs?: number
  /** Returns the free space in bytes. @default statfs */
  readonly readFree?: (folder: string) => Promise<number>
}

/** Limits the disk usage of uploads and builds, so that the disk does not fill up. */
export interface DiskRoom {
  /**
   * Runs work that uses disk space. Aborts the work through its signal if free space falls below
   * the limit.
   *
   * @throws {ServiceError} 507 in that case, or immediately if there is too little space at the start.
   */
  readonly use: <T>(signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>) => Promise<T>
}

const ID = 'runtime'
const EVERY_MS = 1000
const MIB = 1024 * 1024

export function createDiskRoom(options: DiskRoomOptions): DiskRoom {
  const { folder, minFreeBytes, freeSpace, everyMs = EVERY_MS, readFree = readFreeBytes } = options

  async function check(): Promise<ServiceError | undefined> {
    const free = await readFree(folder).catch(() => Number.POSITIVE_INFINITY)
    if (free >= minFreeBytes) return undefined
    return new ServiceError(
      ID,
      507,
      `the disk of the server is full: ${Math.floor(free / MIB)} MiB are free, but min_free_disk is ${formatSize(minFreeBytes)}`,
    )
  }

  return {
    async use(signal, run) {
      if (minFreeBytes === 0) return run(signal)
      if ((await check()) !== undefined) await freeSpace?.()
      const shortage = await check()
      if (shortage !== undefined) throw shortage
      const ending = new AbortController()
      const timer = setInterval(async () => {
        const failure = await check()
        if (failure !== undefined) ending.abort(failure)
      }, everyMs)
      try {
        return await run(AbortSignal.any([signal, ending.signal]))
      } finally {
        clearInterval(timer)
      }
    },
  }
}

async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
