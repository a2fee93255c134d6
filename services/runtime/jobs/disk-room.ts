import { statfs } from 'node:fs/promises'
import { formatSize } from '../../../lib/text/units.ts'
import { ServiceError } from '../../../sdk/errors.ts'

export interface DiskRoomOptions {
  /** On the disk that is meant; it, or one above it, is there. */
  readonly folder: string
  /** Bytes that stay free, whatever is uploaded and built; 0: none have to. */
  readonly leastBytes: number
  /** Makes room, where there is none. @default there is nothing to remove */
  readonly makeRoom?: () => Promise<void>
  /** Milliseconds between two looks. @default 1000 */
  readonly everyMs?: number
  /** Bytes that are free. @default what the system says */
  readonly readFree?: (folder: string) => Promise<number>
}

/** Room for uploads and builds, so that a full disk takes nothing else down. */
export interface DiskRoom {
  /**
   * Does work that takes room; it is ended, by the signal it is given, when there is too little left.
   *
   * @throws {ServiceError} 507 when there is, at once where there is none to begin with.
   */
  readonly use: <T>(signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>) => Promise<T>
}

const ID = 'runtime'
const EVERY_MS = 1000
const MIB = 1024 * 1024

export function createDiskRoom(options: DiskRoomOptions): DiskRoom {
  const { folder, leastBytes, makeRoom, everyMs = EVERY_MS, readFree = readFreeBytes } = options

  async function findLack(): Promise<ServiceError | undefined> {
    const free = await readFree(folder).catch(() => Number.POSITIVE_INFINITY)
    if (free >= leastBytes) return undefined
    return new ServiceError(
      ID,
      507,
      `the disk of the server is full: ${Math.floor(free / MIB)} MiB are free, and ${formatSize(leastBytes)} have to stay so (min_free_disk)`,
    )
  }

  return {
    async use(signal, run) {
      if (leastBytes === 0) return run(signal)
      if ((await findLack()) !== undefined) await makeRoom?.()
      const lack = await findLack()
      if (lack !== undefined) throw lack
      const ending = new AbortController()
      const timer = setInterval(async () => {
        const found = await findLack()
        if (found !== undefined) ending.abort(found)
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
