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

/** Sorted table in the file, with byte keys and values. */
export type LmdbTable = Database<Buffer, Buffer>

/** Sorted table like {@link LmdbTable}, but with text keys. Its ranges have two bounds. */
export type LmdbTextTable = Database<Buffer, string>

/** An open LMDB file. */
export interface Environment {
  /** @throws {Error} if the table does not exist and the disk is full. */
  readonly openTable: (name: string) => LmdbTable
  /** @throws {Error} same errors as {@link openTable}. */
  readonly openTextTable: (name: string) => LmdbTextTable
  /** Runs `change` in an atomic transaction. */
  readonly transact: <T>(change: () => T) => Promise<T>
  /** Returns the number of bytes in the file that can be reused. */
  readonly readFreeBytes: () => number
  readonly close: () => Promise<void>
}

/** Statistics of an LMDB tree, for which the library has no type. */
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
  /** Name used in error messages, such as `the store`. */
  readonly what: string
  /** Whether a transaction waits for fsync rather than only for the operating system. */
  readonly isFlushed: boolean
  /**
   * Called with a message when the file becomes unwritable, for example because the disk is full,
   * and when it is writable again.
   *
   * @default process.emitWarning
   */
  readonly onWarning?: (message: string) => void
}

// Data file and lock file.
const FILES = ['data.mdb', 'lock.mdb'] as const
/**
 * Delay after which an empty transaction is started, because lmdb-js may report a failed
 * transaction only with the next one.
 */
const OVERDUE_MS = 5000
// Number of pages with the roots of the trees.
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
 * Opens the file in a folder, which is created with mode 700 if missing.
 *
 * @throws {Error} if the folder is not usable.
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
    const hasData = checkFile(join(folder, FILES[0]))
    reserveLock(join(folder, FILES[1]), !hasData)
    root = open<Buffer, Buffer>({
      path: folder,
      noSubdir: false,
      maxDbs: 8,
      // A transaction already spans an event loop tick. With this option, a failed transaction
      // would cause an unhandled rejection.
      eventTurnBatching: false,
      // With overlapping sync, a commit completes before it is on disk, but the disk always
      // contains a complete transaction.
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
      // Closing waits until the last transaction is flushed, which never happens after a failure.
      if (hasFailed) await root.transaction(() => {}).catch(() => {})
      await root.close()
    },
  }
}

function countPages({ treeBranchPageCount, treeLeafPageCount, overflowPages }: TreeStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages
}
