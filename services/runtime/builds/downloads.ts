import { randomUUID } from 'node:crypto'
import { lstat, opendir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Cache folders that npm, pip and Go manage themselves and that never shrink. */
const FOLDERS = ['npm', 'pip', 'go']
const MAX_BYTES = 2 * 1024 ** 3
const EVERY_MS = 3600 * 1000
/** Builds in progress and the time of the last size check, by cache. */
const caches = new Map<string, { running: number; checkedMs: number }>()

/**
 * Runs a build. Downloads of package managers are deleted once they exceed the limit and no build
 * that may use them is in progress.
 *
 * @param maxBytes limit per package manager.
 * @param everyMs interval of the size check.
 */
export async function withDownloads<T>(
  cacheFolder: string,
  run: () => Promise<T>,
  maxBytes: number = MAX_BYTES,
  everyMs: number = EVERY_MS,
): Promise<T> {
  const cache = caches.get(cacheFolder) ?? { running: 0, checkedMs: Number.NEGATIVE_INFINITY }
  caches.set(cacheFolder, cache)
  cache.running++
  try {
    return await run()
  } finally {
    cache.running--
    if (cache.running === 0 && performance.now() - cache.checkedMs >= everyMs) {
      cache.checkedMs = performance.now()
      void removeDownloads(cacheFolder, maxBytes).catch(() => {})
    }
  }
}

/**
 * Deletes the downloads of each package manager that exceed the limit. No-op while a build is in
 * progress.
 */
export async function removeDownloads(cacheFolder: string, maxBytes: number): Promise<void> {
  for (const name of FOLDERS) {
    const folder = join(cacheFolder, name)
    if (!(await isLarger(folder, maxBytes))) continue
    if ((caches.get(cacheFolder)?.running ?? 0) > 0) return
    // Renamed first, so that a concurrent build finds no folder rather than a partial one.
    const expired = `${folder}-${randomUUID()}`
    await rename(folder, expired)
    await rm(expired, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Returns whether the files below a folder exceed a size. */
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
