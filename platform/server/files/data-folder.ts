import { constants, type Stats } from 'node:fs'
import { access, mkdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { lockFolder } from './folder-lock.ts'

/** Folder for the files of a server. */
export interface DataFolder {
  /** Absolute path. */
  readonly path: string
  /** Releases the lock of the folder. */
  readonly close: () => Promise<void>
}

/** Write permission of group and others. */
const WRITABLE = 0o022

/**
 * Opens and locks a folder for this server. A missing folder is created with access for its owner
 * only.
 *
 * @param text path; `~/` means the current user's home folder.
 * @throws {Error} with a one-line message if the folder is not usable, is writable by others, or is
 * used by another server.
 */
export async function openDataFolder(text: string): Promise<DataFolder> {
  const path = toFolderPath(text)
  try {
    await createFolder(path)
    check(path, await stat(path))
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw explain(path, error as NodeJS.ErrnoException)
  }
  const lock = await lockFolder(path)
  return { path, close: lock.release }
}

/**
 * Creates a folder and its parents. The `recursive` option is not used, because it never returns for folders such as
 * /proc.
 */
async function createFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || path === dirname(path)) throw error
    await createFolder(dirname(path))
    // Another server may create the folder at the same time.
    await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/**
 * Returns the absolute path of a data folder.
 *
 * @param text see {@link openDataFolder}.
 * @throws {Error} with a one-line message if the path is inside a missing home folder.
 */
export function toFolderPath(text: string): string {
  if (text !== '~' && !text.startsWith('~/')) return resolve(text)
  let home = ''
  try {
    home = homedir()
  } catch {
    // The error is reported below.
  }
  if (home === '')
    throw new Error(
      `the data folder ${text} is inside the home folder, which does not exist: set another with --data_dir or MX_DATA_DIR`,
    )
  return join(home, text.slice(1))
}

function check(path: string, stats: Stats): void {
  const { mode, uid } = stats
  if (!stats.isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' })
  const user = process.getuid?.() ?? uid
  if (uid !== user)
    throw new Error(
      `the data folder ${path} belongs to user ${uid}, but the server runs as user ${user}: change its owner, or set another with --data_dir`,
    )
  if ((mode & WRITABLE) !== 0)
    throw new Error(
      `the data folder ${path} is writable by others (mode ${(mode & 0o777).toString(8)}): run chmod 700, or set another with --data_dir`,
    )
}

function explain(path: string, error: NodeJS.ErrnoException): Error {
  if (error.code === undefined) return error
  const reasons: Readonly<Record<string, string>> = {
    EACCES: 'permission denied',
    ENOENT: 'it does not exist and cannot be created',
    ENOTDIR: 'it is not a folder',
    EROFS: 'its file system is read-only',
  }
  const reason = reasons[error.code] ?? error.message
  return new Error(
    `cannot use the data folder ${path}: ${reason}; set another with --data_dir or MX_DATA_DIR`,
    { cause: error },
  )
}
