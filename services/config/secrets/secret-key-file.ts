import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { makeSecretKey, parseSecretKey, type SecretKey } from './secret-key.ts'

/** Rights of whoever is not the owner. */
const OTHERS = 0o077
/** A key with its line feed takes 45. */
const MAX_BYTES = 1024

/**
 * Reads a key from a file; undefined: there is no such file.
 *
 * @throws {Error} in one line, when it holds no key, cannot be read, or others than its owner may read or write it.
 */
export function readSecretKeyFile(file: string): SecretKey | undefined {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) return undefined
  if (!stats.isFile() || stats.size > MAX_BYTES)
    throw new Error(`${file} must be a file with the secret key of the configuration`)
  if (process.platform !== 'win32' && (stats.mode & OTHERS) !== 0)
    throw new Error(`${file} must be its owner's alone: chmod 600 ${file}`)
  return parseSecretKey(readFileSync(file, 'utf8'), file)
}

/**
 * Makes a key and keeps it in a file for its owner alone, in a folder that is made where it is missing. When somebody else is
 * first, the key is theirs: no file is ever replaced, and whatever ends when, it holds a key or is not there.
 */
export function createSecretKeyFile(file: string): SecretKey {
  const folder = dirname(file)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomUUID()}`
  try {
    const descriptor = openSync(draft, 'wx', 0o600)
    try {
      writeFileSync(descriptor, `${makeSecretKey()}\n`)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    tryUnlink(draft)
  }
  syncFolder(folder)
  return readSecretKeyFile(file)!
}

function tryUnlink(file: string): void {
  try {
    unlinkSync(file)
  } catch {
    // It could not be made.
  }
}

/** So that the file has its name after the power failed. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
