import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, resolve } from 'node:path'

/**
 * Path of a program: one with a slash is of the folder, others of the search path.
 *
 * @param path as in `PATH`.
 * @throws {Error} that says where it was looked for.
 */
export function findProgram(name: string, folder: string, path: string): string {
  if (name === '') throw new Error('the command is empty')
  if (name.includes('/')) {
    const file = resolve(folder, name)
    if (isProgram(file)) return file
    throw new Error(`${file} is no program that can be run`)
  }
  for (const place of path.split(delimiter)) {
    if (isAbsolute(place) && isProgram(resolve(place, name))) return resolve(place, name)
  }
  throw new Error(`no program ${name} in PATH (${path})`)
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
