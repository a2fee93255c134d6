import { statSync } from 'node:fs'

/**
 * Creates a check whether files have changed since its last call; the first call returns true. Follows links and does
 * not read the files. Watchers of a folder use it to ignore writes to other files there, such as a log with their
 * warnings.
 */
export function createChangedCheck(): (files: readonly string[]) => boolean {
  let last: string | undefined
  return (files) => {
    const now = files.map((file) => `${file} ${mark(file)}`).join('\n')
    if (now === last) return false
    last = now
    return true
  }
}

function mark(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join()
  } catch {
    return 'none'
  }
}
