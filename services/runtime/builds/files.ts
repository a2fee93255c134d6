import { constants } from 'node:fs'
import { access, readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Project } from './languages/language.ts'

/** Returns the content of a file, or undefined if it does not exist. */
export async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (['ENOENT', 'EISDIR', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined
    throw error
  }
}

export async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true
}

/** Returns whether the path is an executable file. */
export async function isProgram(path: string): Promise<boolean> {
  return (await isFile(path)) && (await isReachable(path, constants.X_OK))
}

export function isReachable(path: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}

/** Returns the first of the names that is a file in the folder. */
export async function findFile(
  folder: string,
  names: readonly string[],
): Promise<string | undefined> {
  for (const name of names) if (await isFile(join(folder, name))) return name
  return undefined
}

/**
 * Returns the nearest folder that contains a file with this name, from the project up to the root
 * of the source.
 */
export async function findAbove(
  { root, folder }: Project,
  name: string,
): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    if (await isFile(join(at, name))) return at
    if (at === root) return undefined
  }
}

/** Returns the file names in a folder, sorted. */
export async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).sort()
}
