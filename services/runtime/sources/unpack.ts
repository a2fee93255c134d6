import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ReadEntry } from 'tar'
import { formatSize } from '../../../lib/text/units.ts'
import { badRequest, ServiceError } from '../../../sdk/errors.ts'
import { toSafePath } from './safe-path.ts'

/** What an archive may hold. */
export interface UnpackLimits {
  /** Files and folders. @default 5000 */
  readonly maxFiles?: number
  /** Of all files, bytes. @default 64 MiB */
  readonly maxBytes?: number
  /** Of one file, bytes. @default 32 MiB */
  readonly maxFileBytes?: number
}

const ID = 'runtime'
const MAX_FILES = 5000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_FILE_BYTES = 32 * 1024 * 1024
/** What the headers and the padding of a file may take. */
const HEADER_BYTES = 8 * 1024
/** The blocks at the end. */
const END_BYTES = 64 * 1024
/** Kinds of entries that are regular files. */
const FILES = new Set(['File', 'OldFile', 'ContiguousFile'])
/** Never over something that is there already, and through no link. */
const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/**
 * Writes what a tar archive holds, gzipped or not, into a folder that is not there yet. It takes regular files and folders
 * alone, each of them new; of what the archive says about a file only whether it can be run is kept.
 *
 * A folder that could not be written whole is gone again.
 *
 * @throws {ServiceError} 400 what is wrong with the archive, 413 for too much of it; each with the name.
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
  let made = 0
  let bytes = 0

  function count(): void {
    if (++made > maxFiles) throw tooLarge(`more than ${maxFiles} files and folders`)
  }

  async function makeFolder(path: string): Promise<void> {
    if (folders.has(path)) return
    await makeFolder(dirname(path))
    count()
    await mkdir(join(folder, path)).catch(refuseTwice(path))
    folders.add(path)
  }

  async function makeFile(path: string, { size, mode = 0 }: ReadEntry): Promise<FileHandle> {
    const most = formatSize(maxFileBytes)
    if (size > maxFileBytes) throw tooLarge(`${path} with ${size} bytes; a file may have ${most}`)
    bytes += size
    if (bytes > maxBytes) throw tooLarge(`more than ${formatSize(maxBytes)}`)
    await makeFolder(dirname(path))
    count()
    const isProgram = (mode & 0o100) !== 0
    return open(join(folder, path), FRESH, isProgram ? 0o755 : 0o644).catch(refuseTwice(path))
  }

  // Its library is loaded by the first upload.
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
          `the archive holds ${path}, a ${item.type}; it may hold files and folders alone`,
        )
    }
  } finally {
    await file?.close()
  }
}

function tooLarge(what: string): ServiceError {
  return new ServiceError(ID, 413, `the archive holds ${what}`)
}

function refuseTwice(path: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code !== 'EEXIST') throw error
    throw badRequest(ID, `the archive holds ${path} twice`, { cause: error })
  }
}
