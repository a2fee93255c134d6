import { statSync } from 'node:fs'

/**
 * Makes a check whether files are others than when it was last asked; the first time they are. They are not read, and links
 * are followed. Who watches a folder does not take what else is written there, a log of his own warnings for one, for a change.
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
