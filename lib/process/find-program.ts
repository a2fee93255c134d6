import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, resolve } from 'node:path'

/**
 * Finds the path of a program. A name with a slash is relative to the folder; others are searched in `path`.
 *
 * @param path list of folders, as in `PATH`.
 * @throws {Error} with the searched path, or the reason why the system cannot run the script.
 */
export function findProgram(name: string, folder: string, path: string): string {
  if (name === '') throw new Error('the command is empty')
  if (name.includes('/')) {
    const file = resolve(folder, name)
    if (isProgram(file)) return checkScript(file)
    throw new Error(`${file} is not an executable file`)
  }
  for (const directory of path.split(delimiter)) {
    if (isAbsolute(directory) && isProgram(resolve(directory, name)))
      return checkScript(resolve(directory, name))
  }
  throw new Error(`program ${name} not found in PATH (${path})`)
}

/**
 * For a missing interpreter such as `/bin/sh\r`, the system reports `No such file or directory` for the script itself.
 */
function checkScript(file: string): string {
  const [, interpreter, end] =
    /^#![ \t]*([^ \t\r\n]+)[^\r\n]*(\r?)(?:\n|$)/.exec(readStart(file)) ?? []
  if (interpreter === undefined) return file
  if (end === '\r')
    throw new Error(
      `${file} has Windows line endings: its first line ends with CR. Convert the file to LF`,
    )
  if (isAbsolute(interpreter) && !existsSync(interpreter))
    throw new Error(`${file} needs the interpreter ${interpreter}, which does not exist`)
  return file
}

/**
 * Returns the first 256 bytes, as read by Linux (BINPRM_BUF_SIZE). Empty if the program is executable but not readable.
 */
function readStart(file: string): string {
  try {
    const descriptor = openSync(file, 'r')
    try {
      const bytes = Buffer.alloc(256)
      return bytes.toString('latin1', 0, readSync(descriptor, bytes))
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return ''
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
