import { type FSWatcher, readFileSync, watch } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createChangedCheck } from '../../lib/io/file-fingerprint.ts'

/** Debounce interval: editors write in several steps, and some replace the file. */
const SETTLE_MS = 100

export interface WatchedFiles {
  /** Replaces the list of watched files. */
  readonly set: (files: readonly string[]) => void
  /** Records contents that this process has written, so that they do not count as a change. */
  readonly accept: (file: string, text: string) => void
  readonly close: () => void
}

/**
 * Calls `onChange` when the contents of a file have changed.
 *
 * Watches folders instead of files, because a file watch misses a replaced file and a symbolic link
 * that is switched to another folder (as in Kubernetes).
 */
export function watchFiles(
  onChange: () => void,
  onError: (folder: string, error: Error) => void,
): WatchedFiles {
  let contents = new Map<string, string | undefined>()
  const watchers = new Map<string, FSWatcher>()
  const haveChanged = createChangedCheck()
  let timer: NodeJS.Timeout | undefined

  const compare = (): void => {
    let changed = false
    for (const [file, previous] of contents) {
      const current = readOrUndefined(file)
      if (current === previous) continue
      contents.set(file, current)
      changed = true
    }
    if (changed) onChange()
  }
  const settle = (): void => {
    if (!haveChanged([...contents.keys()])) return
    clearTimeout(timer)
    timer = setTimeout(compare, SETTLE_MS)
  }
  const open = (folder: string): void => {
    try {
      const watcher = watch(folder, { persistent: false }, settle)
      watcher.on('error', (error) => onError(folder, error))
      watchers.set(folder, watcher)
    } catch (error) {
      onError(folder, error as Error)
    }
  }

  return {
    set(files) {
      const full = files.map((file) => resolve(file))
      contents = new Map(full.map((file) => [file, contents.get(file) ?? readOrUndefined(file)]))
      const folders = new Set(full.map((file) => dirname(file)))
      for (const [folder, watcher] of watchers) {
        if (folders.has(folder)) continue
        watcher.close()
        watchers.delete(folder)
      }
      for (const folder of folders) if (!watchers.has(folder)) open(folder)
    },
    accept(file, text) {
      const full = resolve(file)
      if (contents.has(full)) contents.set(full, text)
    },
    close() {
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
    },
  }
}

function readOrUndefined(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
