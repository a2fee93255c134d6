import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { untilAborted } from '../../../lib/async/timeout.ts'
import { removeDownloads } from './downloads.ts'
import { isReachable } from './files.ts'

/** An entry in the build cache. */
export interface CacheEntry {
  /** Cache of this server, shared by all builds. */
  readonly cacheFolder: string
  /** Type of the entry, which must be a single word. */
  readonly kind: string
  /** Inputs of the entry, which are part of its key. */
  readonly inputs: readonly string[]
  /** Folder that uses the entry. The entry is retained while this folder exists. */
  readonly user: string
  /** Aborts waiting for another build that creates the entry. */
  readonly signal: AbortSignal
}

/** File that marks a complete entry. Its modification time is the last use. */
const COMPLETE = '.whole'
const USERS = '.users'
/** Retention of unused entries. */
const RETENTION_MS = 7 * 86_400_000
/**
 * Retention while the disk is full. It is not zero, because a build may be about to use an entry.
 */
const FULL_DISK_RETENTION_MS = 60_000
/** Maximum number of unused entries per type. Packages may take hundreds of megabytes each. */
const MAX_UNUSED = 10
/** Entries being created. */
const creating = new Map<string, Promise<unknown>>()

/** Returns the folder of an entry. A missing entry is created once for all concurrent builds. */
export async function useCached(
  { cacheFolder, kind, inputs, user, signal }: CacheEntry,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(cacheFolder, kind, hash(JSON.stringify(inputs)))
  // If a build fails or is cancelled, deployments waiting for it do not fail.
  for (let pending = creating.get(folder); pending !== undefined; pending = creating.get(folder)) {
    await untilAborted(
      pending.catch(() => {}),
      signal,
    )
    signal.throwIfAborted()
  }
  const created = createIfMissing(folder, make)
  creating.set(folder, created)
  try {
    await created
  } finally {
    creating.delete(folder)
  }
  const now = new Date()
  await utimes(join(folder, COMPLETE), now, now)
  await writeFile(join(folder, USERS, hash(user)), user)
  await prune(join(cacheFolder, kind))
  return folder
}

async function createIfMissing(
  folder: string,
  make: (folder: string) => Promise<void>,
): Promise<void> {
  if (await isReachable(join(folder, COMPLETE))) return
  // Left behind by a server that was killed.
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, USERS), { recursive: true })
  try {
    await make(folder)
    await writeFile(join(folder, COMPLETE), '')
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Deletes unused entries and the downloads of package managers. */
export async function pruneCaches(cacheFolder: string): Promise<void> {
  await removeDownloads(cacheFolder, 0)
  const kinds = await readdir(cacheFolder, { withFileTypes: true }).catch(() => [])
  for (const kind of kinds)
    if (kind.isDirectory()) await prune(join(cacheFolder, kind.name), FULL_DISK_RETENTION_MS)
}

/**
 * Deletes entries whose users no longer exist after their retention. If there are too many entries,
 * the least recently used are deleted first.
 */
async function prune(kindFolder: string, retentionMs = RETENTION_MS): Promise<void> {
  const unused: { readonly folder: string; readonly usedMs: number }[] = []
  for (const name of await readdir(kindFolder)) {
    const folder = join(kindFolder, name)
    const used = await stat(join(folder, COMPLETE)).catch(() => undefined)
    if (used === undefined || Date.now() - used.mtimeMs < FULL_DISK_RETENTION_MS) continue
    if (!(await hasUsers(folder))) unused.push({ folder, usedMs: used.mtimeMs })
  }
  unused.sort((a, b) => b.usedMs - a.usedMs)
  for (const [index, { folder, usedMs }] of unused.entries())
    if (index >= MAX_UNUSED || Date.now() - usedMs >= retentionMs)
      await rm(folder, { recursive: true, force: true })
}

async function hasUsers(folder: string): Promise<boolean> {
  for (const name of await readdir(join(folder, USERS))) {
    if (await isReachable(await readFile(join(folder, USERS, name), 'utf8'))) return true
  }
  return false
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
