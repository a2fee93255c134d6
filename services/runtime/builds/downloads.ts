import { randomUUID } from 'node:crypto'
import { lstat, opendir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Folders of the cache that npm, pip and go keep in order themselves, and let grow. */
const FOLDERS = ['npm', 'pip', 'go']
const MOST_BYTES = 2 * 1024 ** 3
const EVERY_MS = 3600 * 1000
/** Builds under way, and when what they left was looked at last, by cache. */
const caches = new Map<string, { running: number; lookedMs: number }>()

/**
 * Does a build. What tools have downloaded is removed once it has become too much, and when no build is under way that may use it.
 *
 * @param mostBytes of each tool.
 * @param everyMs how often it is looked at.
 */
export async function withDownloads<T>(
  cacheFolder: string,
  run: () => Promise<T>,
  mostBytes: number = MOST_BYTES,
  everyMs: number = EVERY_MS,
): Promise<T> {
  const cache = caches.get(cacheFolder) ?? { running: 0, lookedMs: Number.NEGATIVE_INFINITY }
  caches.set(cacheFolder, cache)
  cache.running++
  try {
    return await run()
  } finally {
    cache.running--
    if (cache.running === 0 && performance.now() - cache.lookedMs >= everyMs) {
      cache.lookedMs = performance.now()
      void removeDownloads(cacheFolder, mostBytes).catch(() => {})
    }
  }
}

/** Removes what each tool has downloaded where it is more than this; nothing while a build is under way. */
export async function removeDownloads(cacheFolder: string, mostBytes: number): Promise<void> {
  for (const name of FOLDERS) {
    const folder = join(cacheFolder, name)
    if (!(await isLarger(folder, mostBytes))) continue
    if ((caches.get(cacheFolder)?.running ?? 0) > 0) return
    // A build that begins meanwhile finds none, rather than half of one.
    const away = `${folder}-${randomUUID()}`
    await rename(folder, away)
    await rm(away, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Whether the files below a folder take more than so many bytes. */
async function isLarger(folder: string, bytes: number): Promise<boolean> {
  let sum = 0
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await opendir(next).catch(() => undefined)
    if (entries === undefined) continue
    for await (const entry of entries) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else sum += (await lstat(path).catch(() => undefined))?.size ?? 0
      if (sum > bytes) return true
    }
  }
  return false
}
