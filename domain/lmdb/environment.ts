import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, type DatabaseOptions, open, type RootDatabase } from 'lmdb'
import { settlesWithin } from '../../lib/async/timeout.ts'
import { bytesValues } from './bytes-values.ts'
import { checkFile } from './check-file.ts'
import { findReason } from './commit-error.ts'
import { createFailures } from './failure-log.ts'
import { reserveLock } from './preallocate-lock.ts'
import { silenceFailures } from './suppress-stderr.ts'
import { textKeys } from './text-keys.ts'

/** A table of the file: bytes by bytes, in their order. */
export type LmdbTable = Database<Buffer, Buffer>

/** As {@link LmdbTable}, by texts; a range of it has two ends. */
export type LmdbTextTable = Database<Buffer, string>

/** An open file. */
export interface Environment {
  /** @throws {Error} when it is not there, and there is no room for it. */
  readonly openTable: (name: string) => LmdbTable
  /** @throws {Error} as {@link openTable}. */
  readonly openTextTable: (name: string) => LmdbTextTable
  /** Runs `change` in a transaction of its own: all of its writes or none are there afterwards. */
  readonly transact: <T>(change: () => T) => Promise<T>
  /** Bytes of the file that hold nothing, and are used again. */
  readonly readFreeBytes: () => number
  readonly close: () => Promise<void>
}

/** Pages of a tree, as LMDB counts them; the library has no type for it. */
interface TreeStats {
  readonly pageSize: number
  readonly lastPageNumber: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
  readonly root: TreeStats
  readonly free: TreeStats
}

export interface EnvironmentOptions {
  /** What it is for errors: `the store`. */
  readonly what: string
  /** Whether a transaction waits for the disk, or for the operating system alone. */
  readonly isFlushed: boolean
  /** Told in a line when it cannot be written any more, as for want of room, and when it can again. @default process.emitWarning */
  readonly onWarning?: (message: string) => void
}

/** Of the data, and of those who read it. */
const FILES = ['data.mdb', 'lock.mdb'] as const
/** What became of a transaction that failed lmdb-js may notice only with the next one: after this long one is made for that. */
const OVERDUE_MS = 5000
/** That say where the trees are. */
const META_PAGES = 2
const BYTES = {
  encoding: 'binary',
  encoder: bytesValues,
  keyEncoding: 'binary',
  cache: false,
} as const
const TEXTS = {
  encoding: 'binary',
  encoder: bytesValues,
  keyEncoder: textKeys,
  cache: false,
} as const

/**
 * Opens the file in a folder, which is made where it is missing, for its owner alone.
 *
 * @throws {Error} when the folder cannot be used.
 */
export function openEnvironment(folder: string, options: EnvironmentOptions): Environment {
  const { what, isFlushed, onWarning = (message) => process.emitWarning(message) } = options
  const cannotOpen = (cause: unknown): Error => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new Error(`${what} cannot be opened in ${folder}: ${reason}`, { cause })
  }
  let root: RootDatabase<Buffer, Buffer>
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const isThere = checkFile(join(folder, FILES[0]))
    reserveLock(join(folder, FILES[1]), !isThere)
    root = open<Buffer, Buffer>({
      path: folder,
      noSubdir: false,
      maxDbs: 8,
      // A transaction is a turn of the event loop already; otherwise a failed one leaves behind a rejection nobody can handle.
      eventTurnBatching: false,
      // On: a transaction is done before it is on the disk, and the disk is always at one that was done.
      overlappingSync: !isFlushed,
      ...BYTES,
    })
    silenceFailures(root)
    for (const name of FILES) chmodSync(join(folder, name), 0o600)
  } catch (cause) {
    throw cannotOpen(cause)
  }
  const opened: { readonly getStats: () => object }[] = []
  const failures = createFailures({ what, folder, onWarning })
  let hasFailed = false

  function openDatabase<K extends Buffer | string>(
    name: string,
    options: DatabaseOptions,
  ): Database<Buffer, K> {
    try {
      const database = root.openDB<Buffer, K>(name, options)
      opened.push(database)
      return database
    } catch (cause) {
      throw cannotOpen(cause)
    }
  }

  const transact = async <T>(change: () => T): Promise<T> => {
    const known = failures.findReason()
    if (known !== undefined) throw known
    try {
      const changing = root.transaction(change)
      if (!(await settlesWithin(changing, OVERDUE_MS)))
        void root.transaction(() => {}).catch(() => {})
      const result = await changing
      hasFailed = false
      failures.onSuccess()
      return result
    } catch (error) {
      hasFailed = true
      const reason = await findReason(error)
      failures.onFailure(reason)
      throw reason
    }
  }

  return {
    openTable: (name) => openDatabase<Buffer>(name, BYTES),
    openTextTable: (name) => openDatabase<string>(name, TEXTS),
    transact,
    readFreeBytes() {
      const stats = root.getStats() as TreeStats
      const trees = [stats.root, stats.free, ...opened.map((one) => one.getStats() as TreeStats)]
      const used = trees.reduce((sum, tree) => sum + countPages(tree), META_PAGES)
      return (stats.lastPageNumber + 1 - used) * stats.pageSize
    },
    async close() {
      // Closing waits for the last transaction to be flushed: one that failed never is.
      if (hasFailed) await root.transaction(() => {}).catch(() => {})
      await root.close()
    },
  }
}

function countPages({ treeBranchPageCount, treeLeafPageCount, overflowPages }: TreeStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages
}
