import { formatSize } from '../../../lib/text/units.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import type { Git } from './git.ts'

/** Limits of a commit. */
export interface TreeLimits {
  /** Maximum number of files and folders. @default 100 000 */
  readonly maxFiles?: number
  /** Total size of all files in bytes. @default 1 GiB */
  readonly maxBytes?: number
}

const ID = 'runtime'
const MAX_FILES = 100_000
const MAX_BYTES = 1024 ** 3
/** Matches an entry with mode, type, object and size in the output of `git ls-tree --long`. */
const ENTRY = /^\d+ \w+ [0-9a-f]+ +(\d+|-)\t/

/**
 * Checks a fetched commit before checkout. Trees that repeat each other can expand a few hundred
 * bytes to billions of files, whose checkout would exhaust memory and inodes.
 *
 * @throws {ServiceError} 413 if there are too many files or bytes.
 */
export async function checkTree(
  git: Git,
  commit: string,
  { maxFiles = MAX_FILES, maxBytes = MAX_BYTES }: TreeLimits = {},
): Promise<void> {
  let incomplete = ''
  let files = 0
  let bytes = 0
  await git.scan(
    (text) => {
      const entries = (incomplete + text).split('\0')
      incomplete = entries.pop()!
      for (const entry of entries) {
        files++
        bytes += Number(ENTRY.exec(entry)?.[1]) || 0
      }
      if (files > maxFiles) throw tooLarge(`${maxFiles} files and folders`)
      if (bytes > maxBytes) throw tooLarge(`${formatSize(maxBytes)}`)
    },
    ...['ls-tree', '-r', '-t', '-z', '--long', '--full-tree', commit],
  )
}

function tooLarge(limit: string): ServiceError {
  return new ServiceError(ID, 413, `the repository exceeds the limit of ${limit}`)
}
