import { randomUUID } from 'node:crypto'
import { open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** New contents of a file, written to a draft next to it. */
export interface DraftFile {
  /** Replaces the file atomically. */
  readonly commit: () => Promise<void>
  /** Removes the draft. */
  readonly discard: () => Promise<void>
}

/**
 * Writes new contents for an existing file to disk, with its mode and owner. If the file is a
 * symbolic link, its target is replaced.
 *
 * @throws {Error} system error.
 */
export async function writeDraft(file: string, text: string): Promise<DraftFile> {
  const target = await realpath(file)
  const { mode, uid, gid } = await stat(target)
  const draft = join(dirname(target), `.${basename(target)}.${randomUUID()}`)
  const discard = (): Promise<void> => unlink(draft).catch(() => {})
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    const written = await handle.stat()
    if (written.uid !== uid || written.gid !== gid) await handle.chown(uid, gid)
    await handle.chmod(mode & 0o7777)
    await handle.sync()
  } catch (error) {
    await discard()
    throw error
  } finally {
    await handle.close()
  }
  return { commit: () => rename(draft, target), discard }
}
