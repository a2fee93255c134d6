import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const CHECK_MS = 500

/**
 * Calls `onExceeded` once if the total size of the files in a folder exceeds `maxBytes`, with a delay of up to half a
 * second.
 *
 * @returns a function that stops the checks.
 */
export function limitFolder(folder: string, maxBytes: number, onExceeded: () => void): () => void {
  let isEnded = false
  const check = async (): Promise<void> => {
    const bytes = await sizeOf(folder)
    if (isEnded) return
    if (bytes > maxBytes) onExceeded()
    else timer = setTimeout(check, CHECK_MS)
  }
  let timer = setTimeout(check, CHECK_MS)
  return () => {
    isEnded = true
    clearTimeout(timer)
  }
}

/**
 * Returns the total size of all files below a folder. Files that disappear in the meantime are not
 * counted.
 */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      lstat(join(parentPath, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
