import { execFile } from 'node:child_process'
import type { Stats } from 'node:fs'
import { lstat, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isPrivileged } from '../capabilities.ts'
import type { Sandbox } from './sandbox.ts'

/** Makes folders writable first, since Go caches modules in read-only folders. */
const EMPTY = 'chmod -R u+rwx . 2>/dev/null; exec find . -mindepth 1 -delete'
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
const EMPTY_MAX_MS = 120_000
const run = promisify(execFile)

/**
 * Removes a folder with its content, if it exists. If the folder, or a folder directly in it, belongs to another user,
 * it is emptied as that user. Otherwise a program of that user could concurrently replace a folder with a link, and
 * root would delete the target.
 *
 * @param sandbox hides other folders from the deleting process. @default none
 * @throws {Error} if something remains.
 */
export async function removeFolder(path: string, sandbox?: Sandbox): Promise<void> {
  if (isPrivileged() && !(await isRemoved(path, sandbox)))
    for (const name of await readdir(path).catch(() => []))
      await isRemoved(join(path, name), sandbox)
  await rm(path, { recursive: true, force: true, maxRetries: 3 })
}

/** Removes a folder of another user. Returns true if nothing remains at the path. */
async function isRemoved(path: string, sandbox: Sandbox | undefined): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined)
  if (stats === undefined) return true
  if (!stats.isDirectory() || stats.uid === process.geteuid!()) return false
  await empty(path, stats, sandbox)
  await rmdir(path)
  return true
}

async function empty(folder: string, { uid, gid }: Stats, sandbox: Sandbox | undefined) {
  const script = ['/bin/sh', '-c', EMPTY]
  const exposed = [{ path: folder, isWritable: true }]
  const { words, ...options } =
    sandbox === undefined
      ? { words: script, cwd: folder, env: { PATH: SYSTEM_PATH }, uid, gid }
      : sandbox.wrap(script, { userId: uid, folder, env: {}, exposed })
  // If files remain, removing the folder fails below.
  await run(words[0]!, words.slice(1), { ...options, timeout: EMPTY_MAX_MS }).catch(() => {})
}
