import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Maybe } from '../../lib/async/maybe.ts'

const RETRY_MS = 20
/** Age at which a lock is stale, because its process was killed or stopped. */
const STALE_MS = 5000
/** Error codes of folders that are not writable. */
const NOT_WRITABLE = ['EACCES', 'EPERM', 'EROFS']
/** Time limit of an edit. */
export const EDIT_MS = 4000

/** Path of a file in `~/.mx`, which only its owner can read (specification: Command line). */
export function toStatePath(name: string): string {
  return join(homedir(), '.mx', name)
}

/** @returns undefined for a missing file @throws {Error} with a one-line message if it cannot be read */
export function readStateFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new Error(`${path} cannot be read: ${message}`, { cause: error })
  }
}

/**
 * Changes a file atomically under a lock.
 *
 * @param edit returns the new content within {@link EDIT_MS}
 * @throws {Error} with a one-line message if the file cannot be written
 */
export async function changeStateFile(
  path: string,
  edit: (text: string | undefined) => Maybe<string>,
): Promise<void> {
  const lock = `${path}.lock`
  try {
    createFolder(dirname(path))
    let lockId = acquire(lock)
    while (lockId === undefined) {
      await wait(RETRY_MS)
      lockId = acquire(lock)
    }
    try {
      const text = await edit(readStateFile(path))
      if (readStateFile(lock) !== lockId)
        throw new Error(
          `${path} was changed by another program while this one was suspended for more than ${STALE_MS / 1000} s. Run the command again`,
        )
      replace(path, text)
    } finally {
      if (readStateFile(lock) === lockId) rmSync(lock, { force: true })
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    throw new Error(`${path} cannot be written: ${explain(error as NodeJS.ErrnoException)}`, {
      cause: error,
    })
  }
}

function explain({ code = '', message }: NodeJS.ErrnoException): string {
  const hint = NOT_WRITABLE.includes(code)
    ? '; make it writable, or set HOME to a writable folder'
    : ''
  return message + hint
}

/** Renames an invalid file and returns its new path. @throws {Error} if it cannot be moved */
export function moveAside(path: string): string {
  const aside = `${path}.broken-${randomUUID().slice(0, 8)}`
  renameSync(path, aside)
  return aside
}

/**
 * Creates a folder and its parents. The `recursive` option would retry forever where no folder can be created, such as
 * in `/proc`.
 */
function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const parent = dirname(folder)
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || existsSync(parent)) throw error
    createFolder(parent)
    mkdirSync(folder, { mode: 0o700 })
  }
}

/** Creates the lock. Returns the id written to it, or undefined if another program holds it. */
function acquire(lock: string): string | undefined {
  const id = randomUUID()
  try {
    writeFileSync(lock, id, { flag: 'wx', mode: 0o600 })
    return id
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    removeStale(lock)
    return undefined
  }
}

/**
 * Removes a stale lock. Its age is measured against a new file, because the clock of the file system may differ from
 * the clock of this machine. A lock from the future is also stale, because the clock was set back.
 */
function removeStale(lock: string): void {
  const stats = statSync(lock, { throwIfNoEntry: false })
  if (stats === undefined) return
  const aside = `${lock}.${randomUUID()}`
  writeFileSync(aside, '', { flag: 'wx', mode: 0o600 })
  const { mtimeMs: nowMs } = statSync(aside)
  const isStale = ({ mtimeMs }: Stats): boolean => Math.abs(nowMs - mtimeMs) > STALE_MS
  try {
    if (!isStale(stats)) return
    // Another program may have replaced the lock in the meantime, so a lock that is not stale is restored.
    renameSync(lock, aside)
    if (!isStale(statSync(aside))) linkSync(aside, lock)
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

function replace(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}`
  try {
    const descriptor = openSync(draft, 'wx', 0o600)
    try {
      writeFileSync(descriptor, text)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
}
