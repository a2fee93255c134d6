import { constants, type Stats } from 'node:fs'
import { access, mkdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { lockFolder } from './folder-lock.ts'

/** The folder where a server keeps what it keeps in files. */
export interface DataFolder {
  /** Absolute. */
  readonly path: string
  /** Lets another server have it. */
  readonly close: () => Promise<void>
}

/** Group and others may write. */
const WRITABLE = 0o022

/**
 * Opens a folder for this server alone; it is made where it is missing, for its owner alone.
 *
 * @param text a path; `~/` is the home folder of whoever runs the program.
 * @throws {Error} with one line when it cannot be used, others can write to it, or another server has it.
 */
export async function openDataFolder(text: string): Promise<DataFolder> {
  const path = toFolderPath(text)
  try {
    await makeFolder(path)
    check(path, await stat(path))
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw explain(path, error as NodeJS.ErrnoException)
  }
  const lock = await lockFolder(path)
  return { path, close: lock.release }
}

/** With those it lies in. Not by the option `recursive`, which never ends where a folder is there and takes none, as /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || path === dirname(path)) throw error
    await makeFolder(dirname(path))
    // Another server may make it at the same time.
    await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/**
 * The absolute path of a data folder.
 *
 * @param text as of {@link openDataFolder}.
 * @throws {Error} with one line when it lies in the home folder, and there is none.
 */
export function toFolderPath(text: string): string {
  if (text !== '~' && !text.startsWith('~/')) return resolve(text)
  let home = ''
  try {
    home = homedir()
  } catch {
    // Told below.
  }
  if (home === '')
    throw new Error(
      `the data folder ${text} is inside the home folder, and there is none: name another with --data_dir or MX_DATA_DIR`,
    )
  return join(home, text.slice(1))
}

function check(path: string, stats: Stats): void {
  const { mode, uid } = stats
  if (!stats.isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' })
  const own = process.getuid?.() ?? uid
  if (uid !== own)
    throw new Error(
      `the data folder ${path} belongs to user ${uid}, and this is user ${own}: change its owner, or name another with --data_dir`,
    )
  if ((mode & WRITABLE) !== 0)
    throw new Error(
      `others can write to the data folder ${path} (mode ${(mode & 0o777).toString(8)}): chmod 700 it, or name another with --data_dir`,
    )
}

function explain(path: string, error: NodeJS.ErrnoException): Error {
  if (error.code === undefined) return error
  const reasons: Readonly<Record<string, string>> = {
    EACCES: 'this user may not use it',
    ENOENT: 'it is not there, and cannot be made',
    ENOTDIR: 'it is no folder',
    EROFS: 'its file system is read-only',
  }
  const reason = reasons[error.code] ?? error.message
  return new Error(
    `the data folder ${path} cannot be used: ${reason}; name another with --data_dir or MX_DATA_DIR`,
    { cause: error },
  )
}
