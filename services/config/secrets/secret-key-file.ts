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

/** Permission bits of group and others. */
const OTHERS = 0o077
/** Maximum file size in bytes. A key with its line feed has 45 bytes. */
const MAX_BYTES = 1024

/**
 * Reads a key from a file. Returns undefined if the file does not exist.
 *
 * @throws {Error} with a one-line message if the file contains no key, cannot be read, or is
 * accessible to others.
 */
export function readSecretKeyFile(file: string): SecretKey | undefined {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) return undefined
  if (!stats.isFile() || stats.size > MAX_BYTES)
    throw new Error(`${file} must be a regular file that contains the configuration secret key`)
  if (process.platform !== 'win32' && (stats.mode & OTHERS) !== 0)
    throw new Error(`${file} must be accessible only to its owner: chmod 600 ${file}`)
  return parseSecretKey(readFileSync(file, 'utf8'), file)
}

/**
 * Creates a key file with mode 600 and its folder. If another process was faster, its key is used.
 * Existing files are never replaced, and after a crash the file is either complete or missing.
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
    // The file does not exist.
  }
}

/** Syncs the directory entry, so that the file survives a power failure. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
