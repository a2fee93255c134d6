import { randomUUID } from 'node:crypto'
import { readFile, rename, unlink, writeFile } from 'node:fs/promises'

/**
 * Atomically writes a file with access for its owner only.
 *
 * @throws {Error} with a one-line message.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true, flag: 'wx' })
    await rename(draft, file)
  } catch (error) {
    await removeFile(draft)
    throw new Error(`cannot write ${file}: ${(error as Error).message}`, { cause: error })
  }
}

/** Returns the contents of a file, or undefined if it is missing or unreadable. */
export async function readPrivateFile(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined)
}

/** Removes a file and ignores errors. */
export async function removeFile(file: string): Promise<void> {
  await unlink(file).catch(() => {})
}
