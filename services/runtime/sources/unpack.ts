import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ReadEntry } from 'tar'
import { formatSize } from '../../../lib/text/units.ts'
import { badRequest, ServiceError } from '../../../sdk/errors.ts'
import { toSafePath } from './safe-path.ts'

/** Limits of an archive. */
export interface UnpackLimits {
  /** Maximum number of files and folders. @default 5000 */
  readonly maxFiles?: number
  /** Maximum total size of all files in bytes. @default 64 MiB */
  readonly maxBytes?: number
  /** Maximum size of a file in bytes. @default 32 MiB */
  readonly maxFileBytes?: number
}

const ID = 'runtime'
const MAX_FILES = 5000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_FILE_BYTES = 32 * 1024 * 1024
/** Allowance for headers and padding per file. */
const HEADER_BYTES = 8 * 1024
/** Allowance for the blocks at the end of the archive. */
const END_BYTES = 64 * 1024
/** Entry types of regular files. */
const FILES = new Set(['File', 'OldFile', 'ContiguousFile'])
/** Flags for a new file, which never overwrite a file or follow a link. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/**
 * Unpacks a tar archive, optionally gzipped, into a new folder. It accepts only regular files and
 * folders, without duplicates. Only the executable bit of the metadata is preserved.
 *
 * Deletes the folder on failure.
 *
 * @throws {ServiceError} 400 for an invalid archive, 413 if it exceeds a limit; the message
 * contains the path of the entry.
 */
export async function unpackSource(
  chunks: AsyncIterable<Uint8Array>,
  folder: string,
  limits: UnpackLimits = {},
): Promise<void> {
  await mkdir(dirname(folder), { recursive: true })
  await mkdir(folder)
  try {
    await unpackInto(chunks, folder, limits)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function unpackInto(
  chunks: AsyncIterable<Uint8Array>,
  folder: string,
  { maxFiles = MAX_FILES, maxBytes = MAX_BYTES, maxFileBytes = MAX_FILE_BYTES }: UnpackLimits,
): Promise<void> {
  const folders = new Set(['.'])
  let entryCount = 0
  let bytes = 0

  function count(): void {
    if (++entryCount > maxFiles) throw tooLarge(`more than ${maxFiles} files and folders`)
  }

  async function makeFolder(path: string): Promise<void> {
    if (folders.has(path)) return
    await makeFolder(dirname(path))
    count()
    await mkdir(join(folder, path)).catch(rejectDuplicate(path))
    folders.add(path)
  }

  async function makeFile(path: string, { size, mode = 0 }: ReadEntry): Promise<FileHandle> {
    const limit = formatSize(maxFileBytes)
    if (size > maxFileBytes)
      throw tooLarge(`${path} with ${size} bytes; the limit per file is ${limit}`)
    bytes += size
    if (bytes > maxBytes) throw tooLarge(`more than ${formatSize(maxBytes)}`)
    await makeFolder(dirname(path))
    count()
    const isProgram = (mode & 0o100) !== 0
    return open(join(folder, path), NEW_FILE, isProgram ? 0o755 : 0o644).catch(
      rejectDuplicate(path),
    )
  }

  // The tar library is loaded on the first upload.
  const { readTar } = await import('./read-tar.ts')
  let file: FileHandle | undefined
  try {
    for await (const item of readTar(chunks, maxBytes + maxFiles * HEADER_BYTES + END_BYTES)) {
      if (item instanceof Uint8Array) {
        await file?.writeFile(item)
        continue
      }
      await file?.close()
      file = undefined
      const path = toSafePath(item.path)
      if (item.type === 'Directory') await makeFolder(path)
      else if (FILES.has(item.type)) file = await makeFile(path, item)
      else
        throw badRequest(
          ID,
          `the archive contains ${path}, a ${item.type}; only files and folders are allowed`,
        )
    }
  } finally {
    await file?.close()
  }
}

function tooLarge(exceeded: string): ServiceError {
  return new ServiceError(ID, 413, `the archive contains ${exceeded}`)
}

function rejectDuplicate(path: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code !== 'EEXIST') throw error
    throw badRequest(ID, `the archive contains the duplicate path ${path}`, { cause: error })
  }
}
