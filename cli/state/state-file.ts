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
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Maybe } from '../../lib/async/maybe.ts'

const RETRY_MS = 20
/** Age at which a lock is stale: its holder was killed or stopped. */
const STALE_MS = 5000
/** Codes of folders that somebody else may write, or nobody. */
const NOT_OURS = ['EACCES', 'EPERM', 'EROFS']
/** Milliseconds that a change may take. */
export const EDIT_MS = 4000

/** A file of `~/.mx`, its owner's alone (specification: Command line). */
export function toStatePath(name: string): string {
  return join(homedir(), '.mx', name)
}

/** Undefined: there is no such file. @throws {Error} in one line when it cannot be read. */
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
 * Changes a file: whole or not at all, and one program after the other.
 *
 * @param edit is given what is there, and returns what is to be, within {@link EDIT_MS}.
 * @throws {Error} in one line when it cannot be written.
 */
export async function changeStateFile(
  path: string,
  edit: (text: string | undefined) => Maybe<string>,
): Promise<void> {
  const lock = `${path}.lock`
  try {
    makeFolder(dirname(path))
    let lockId = take(lock)
    while (lockId === undefined) {
      await wait(RETRY_MS)
      lockId = take(lock)
    }
    try {
      const text = await edit(readStateFile(path))
      if (readStateFile(lock) !== lockId)
        throw new Error(
          `${path} was changed by another program, because this one was stopped for longer than ${STALE_MS / 1000} s: run the command again`,
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
  const hint = NOT_OURS.includes(code)
    ? '; make it writable for you, or set HOME to a folder that is'
    : ''
  return message + hint
}

/** Moves a file that is damaged beside its place, under a name nobody has; returns that. @throws {Error} when it cannot be moved. */
export function moveAside(path: string): string {
  const aside = `${path}.broken-${randomUUID().slice(0, 8)}`
  renameSync(path, aside)
  return aside
}

/** With those above it. Not by `recursive`, which tries for ever where nothing can be made, as in `/proc`. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const parent = dirname(folder)
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || existsSync(parent)) throw error
    makeFolder(parent)
    mkdirSync(folder, { mode: 0o700 })
  }
}

/** Creates the lock. Returns the id written into it; undefined if another program has the lock. */
function take(lock: string): string | undefined {
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
 * Removes a lock that is too old. Its age is measured against a file made beside it: the file system may have another clock than this
 * machine. One of the future is stale, too: the clock was set back.
 */
function removeStale(lock: string): void {
  const found = statSync(lock, { throwIfNoEntry: false })
  const id = readStateFile(lock)
  if (found === undefined) return
  const aside = `${lock}.${randomUUID()}`
  writeFileSync(aside, '', { flag: 'wx', mode: 0o600 })
  const { mtimeMs: nowMs } = statSync(aside)
  try {
    if (Math.abs(nowMs - found.mtimeMs) <= STALE_MS) return
    // Another program may have replaced it since: under its new name it can be told apart, and is given back.
    renameSync(lock, aside)
    if (readStateFile(aside) !== id) linkSync(aside, lock)
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
