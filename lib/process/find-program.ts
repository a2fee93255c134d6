import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, resolve } from 'node:path'

/**
 * Path of a program: one with a slash is of the folder, others of the search path.
 *
 * @param path as in `PATH`.
 * @throws {Error} that says where it was looked for, or why the system could not run the script that is there.
 */
export function findProgram(name: string, folder: string, path: string): string {
  if (name === '') throw new Error('the command is empty')
  if (name.includes('/')) {
    const file = resolve(folder, name)
    if (isProgram(file)) return checkScript(file)
    throw new Error(`${file} is no program that can be run`)
  }
  for (const place of path.split(delimiter)) {
    if (isAbsolute(place) && isProgram(resolve(place, name)))
      return checkScript(resolve(place, name))
  }
  throw new Error(`no program ${name} in PATH (${path})`)
}

/** The system says `No such file or directory` of the script itself when its interpreter is missing, `/bin/sh\r` for instance. */
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

/** Linux reads 256 bytes (BINPRM_BUF_SIZE). Empty for a program that may be run and not read. */
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
