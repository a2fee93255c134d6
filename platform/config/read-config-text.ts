import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { SettingsError } from '../settings/sources.ts'

/** Descriptions of file system errors, which are reported without their code. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
}

/**
 * Reads the contents of the configuration file.
 *
 * @throws {SettingsError} if the file cannot be read.
 */
export async function readConfigText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new SettingsError([`cannot read configuration file ${file}: ${toReason(error, file)}`], {
      cause: error,
    })
  }
}

function toReason(error: unknown, file: string): string {
  const { message, code = '' } = error as NodeJS.ErrnoException
  const target = findMissingTarget(file)
  if (target !== undefined) return `its link target ${target} does not exist`
  return REASONS[code] ?? message
}

/** Returns the target of a dangling symbolic link. */
function findMissingTarget(file: string): string | undefined {
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink && !existsSync(file) ? readlinkSync(file) : undefined
}
