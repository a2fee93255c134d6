import { formatSize } from '../../../lib/text/units.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import type { Git } from './git.ts'

/** What a commit may hold. */
export interface TreeLimits {
  /** Files and folders. @default 100 000 */
  readonly maxFiles?: number
  /** Of all files, bytes. @default 1 GiB */
  readonly maxBytes?: number
}

const ID = 'runtime'
const MAX_FILES = 100_000
const MAX_BYTES = 1024 ** 3
/** Mode, type, object and size of an entry, as `git ls-tree --long` writes them. */
const ENTRY = /^\d+ \w+ [0-9a-f]+ +(\d+|-)\t/

/**
 * Checks a fetched commit before it is checked out. Trees that repeat one another make billions of files out of a few hundred bytes: to
 * check them out takes all memory and all inodes.
 *
 * @throws {ServiceError} 413 for too many files, or bytes.
 */
export async function checkTree(
  git: Git,
  commit: string,
  { maxFiles = MAX_FILES, maxBytes = MAX_BYTES }: TreeLimits = {},
): Promise<void> {
  let rest = ''
  let files = 0
  let bytes = 0
  await git.scan(
    (text) => {
      const entries = (rest + text).split('\0')
      rest = entries.pop()!
      for (const entry of entries) {
        files++
        bytes += Number(ENTRY.exec(entry)?.[1]) || 0
      }
      if (files > maxFiles) throw tooLarge(`more than ${maxFiles} files and folders`)
      if (bytes > maxBytes) throw tooLarge(`more than ${formatSize(maxBytes)}`)
    },
    ...['ls-tree', '-r', '-t', '-z', '--long', '--full-tree', commit],
  )
}

function tooLarge(what: string): ServiceError {
  return new ServiceError(ID, 413, `the repository holds ${what}`)
}
