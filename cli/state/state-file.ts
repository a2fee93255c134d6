import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
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
import type { Maybe } from '../../core/chain.ts'

const RETRY_MS = 20
/** Nobody holds a lock for that long: its holder was killed. */
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
    while (!take(lock)) await wait(RETRY_MS)
    try {
      replace(path, await edit(readStateFile(path)))
    } finally {
      rmSync(lock, { force: true })
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

/** Whether the lock is ours now. */
function take(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const stats = statSync(lock, { throwIfNoEntry: false })
    // Also one of the future: the clock was set back.
    if (stats !== undefined && Math.abs(Date.now() - stats.mtimeMs) > STALE_MS)
      rmSync(lock, { force: true })
    return false
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
