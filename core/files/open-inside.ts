import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** A regular file that the caller must close. */
export interface OpenedFile {
  readonly handle: FileHandle
  readonly stats: Stats
}

/** Non-blocking: do not wait for the writer of a named pipe. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK
/** Maximum attempts if a file is replaced while it is opened. */
const ATTEMPTS = 3
const MISSING = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'EINVAL'])

/**
 * Opens a file below a folder. Symbolic links are followed if their target is below the folder. The opened file is
 * compared with the file at the resolved path, so that a concurrently replaced link cannot lead outside.
 *
 * @param segments path below the folder, without `.` and `..`.
 * @returns `folder` for a folder; undefined if the file does not exist, is not a regular file, or is outside the
 * folder.
 * @throws {Error} from the file system, such as EACCES.
 */
export async function openInside(
  folder: string,
  segments: readonly string[],
): Promise<OpenedFile | 'folder' | undefined> {
  const path = join(folder, ...segments)
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    let handle: FileHandle | undefined
    let isReturned = false
    try {
      handle = await open(path, FLAGS)
      const stats = await handle.stat()
      const [real, root] = await Promise.all([realpath(path), realpath(folder)])
      const { dev, ino } = await lstat(real)
      if (dev !== stats.dev || ino !== stats.ino) continue
      if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep))
        return undefined
      if (stats.isDirectory()) return 'folder'
      if (!stats.isFile()) return undefined
      isReturned = true
      return { handle, stats }
    } catch (error) {
      if (MISSING.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
      throw error
    } finally {
      if (!isReturned) await handle?.close()
    }
  }
  return undefined
}
