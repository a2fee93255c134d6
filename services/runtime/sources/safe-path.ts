import { badRequest } from '../../../sdk/errors.ts'

const ID = 'runtime'
const MAX_BYTES = 1024
const MAX_NAME_BYTES = 255
const MAX_DEPTH = 64
/** Control characters, backslashes and drive letters. */
const FORBIDDEN = /[\0-\x1f\x7f\\]|^[a-z]:/i

/**
 * Normalizes an untrusted relative path to NFC without `.` and `..` segments. Returns `.` for the
 * folder itself.
 *
 * @param source name of the object that contains the path, for the error message.
 * @throws {ServiceError} 400 for a path that points outside the folder on any operating system.
 */
export function toSafePath(input: string, source = 'the archive'): string {
  const invalid = (reason: string) =>
    badRequest(ID, `${source} has the path ${JSON.stringify(input.slice(0, 100))}, ${reason}`)
  const path = input.normalize('NFC')
  if (path === '') throw invalid('which is empty')
  if (path.startsWith('/')) throw invalid('but paths must be relative')
  if (FORBIDDEN.test(path)) throw invalid('which contains invalid characters')
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) throw invalid('which points outside its folder')
  const isLong = names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)
  if (isLong || Buffer.byteLength(path) > MAX_BYTES) throw invalid('which is too long')
  if (names.length > MAX_DEPTH)
    throw invalid(`which exceeds the limit of ${MAX_DEPTH} nested folders`)
  return names.length === 0 ? '.' : names.join('/')
}
