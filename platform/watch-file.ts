import { type FSWatcher, readFileSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** An editor writes in several steps, and some replace the file by a new one: wait until it is done. */
const SETTLE_MS = 100

/**
 * Calls `onChange` when the content of a file became another. Returns the function that stops it.
 *
 * The folder is watched, not the file: a file replaced by a rename, or a link switched to
 * another folder (as Kubernetes does), would silently be lost otherwise.
 */
export function watchFile(file: string, onChange: () => void, onTrouble: (error: Error) => void): () => void {
  let last = readOrUndefined(file)
  let timer: NodeJS.Timeout | undefined
  const settle = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const now = readOrUndefined(file)
      if (now === last) return
      last = now
      onChange()
    }, SETTLE_MS)
  }
  let watcher: FSWatcher | undefined
  try {
    watcher = watch(dirname(file), { persistent: false }, settle)
    watcher.on('error', onTrouble)
  } catch (error) {
    onTrouble(error as Error)
  }
  return () => {
    clearTimeout(timer)
    watcher?.close()
  }
}

function readOrUndefined(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
