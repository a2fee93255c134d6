import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { untilAborted } from '../../../lib/async/timeout.ts'
import { removeDownloads } from './downloads.ts'
import { isReachable } from './files.ts'

/** What is kept for builds to come. */
export interface CacheEntry {
  /** Folder of this server, for all builds. */
  readonly cacheFolder: string
  /** What it is, a word. */
  readonly kind: string
  /** What it was made of: another one when any of it changes. */
  readonly madeOf: readonly string[]
  /** Who uses it for as long as it is there: a folder. */
  readonly user: string
  /** Ends the waiting for another build that makes it. */
  readonly signal: AbortSignal
}

/** There once it is whole; its time is that of the last use. */
const WHOLE = '.whole'
const USERS = '.users'
/** What nobody uses is kept for so long. */
const KEPT_MS = 7 * 86_400_000
/** The same where there is no room: a build may be about to use it. */
const KEPT_SHORT_OF_ROOM_MS = 60_000
/** Of one kind that nobody uses: packages may be hundreds of megabytes each. */
const UNUSED_MAX = 10
/** Entries that are being made. */
const making = new Map<string, Promise<unknown>>()

/** The folder of an entry, which is made first where it is not there; once, however many builds ask for it. */
export async function useCached(
  { cacheFolder, kind, madeOf, user, signal }: CacheEntry,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(cacheFolder, kind, hash(JSON.stringify(madeOf)))
  // One that failed, or was given up, does not fail those that waited for it.
  for (let other = making.get(folder); other !== undefined; other = making.get(folder)) {
    await untilAborted(
      other.catch(() => {}),
      signal,
    )
    signal.throwIfAborted()
  }
  const made = makeUnlessThere(folder, make)
  making.set(folder, made)
  try {
    await made
  } finally {
    making.delete(folder)
  }
  const now = new Date()
  await utimes(join(folder, WHOLE), now, now)
  await writeFile(join(folder, USERS, hash(user)), user)
  await prune(join(cacheFolder, kind))
  return folder
}

async function makeUnlessThere(
  folder: string,
  make: (folder: string) => Promise<void>,
): Promise<void> {
  if (await isReachable(join(folder, WHOLE))) return
  // Left by a server that was killed.
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, USERS), { recursive: true })
  try {
    await make(folder)
    await writeFile(join(folder, WHOLE), '')
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Deletes all entries that nobody uses, and what tools have downloaded. */
export async function pruneCaches(cacheFolder: string): Promise<void> {
  await removeDownloads(cacheFolder, 0)
  const kinds = await readdir(cacheFolder, { withFileTypes: true }).catch(() => [])
  for (const kind of kinds)
    if (kind.isDirectory()) await prune(join(cacheFolder, kind.name), KEPT_SHORT_OF_ROOM_MS)
}

/** Deletes the entries whose users are all gone, some time after the last use; of a great many, those that were used last stay so long. */
async function prune(kindFolder: string, keptMs = KEPT_MS): Promise<void> {
  const unused: { readonly folder: string; readonly usedMs: number }[] = []
  for (const name of await readdir(kindFolder)) {
    const folder = join(kindFolder, name)
    const used = await stat(join(folder, WHOLE)).catch(() => undefined)
    if (used === undefined || Date.now() - used.mtimeMs < KEPT_SHORT_OF_ROOM_MS) continue
    if (!(await hasUsers(folder))) unused.push({ folder, usedMs: used.mtimeMs })
  }
  unused.sort((a, b) => b.usedMs - a.usedMs)
  for (const [index, { folder, usedMs }] of unused.entries())
    if (index >= UNUSED_MAX || Date.now() - usedMs >= keptMs)
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
