import { randomUUID } from 'node:crypto'
import { readFile, rename, unlink, writeFile } from 'node:fs/promises'

/**
 * Keeps a text in a file for its owner alone, in place of what it held. Whatever ends when: the file holds one of the two.
 *
 * @throws {Error} with one line.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true, flag: 'wx' })
    await rename(draft, file)
  } catch (error) {
    await removeFile(draft)
    throw new Error(`${file} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}

/** What a file holds; undefined: it is not there, or cannot be read. */
export async function readPrivateFile(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined)
}

/** One that is not there does not matter. */
export async function removeFile(file: string): Promise<void> {
  await unlink(file).catch(() => {})
}
