import { badRequest } from '../../../sdk/errors.ts'

const ID = 'runtime'
const MAX_BYTES = 1024
const MAX_NAME_BYTES = 255
/** Deeper folders than anybody writes by hand. */
const MAX_DEPTH = 64
/** Control characters, and what separates folders or names a drive elsewhere. */
const FOREIGN = /[\0-\x1f\x7f\\]|^[a-z]:/i

/**
 * The path of something inside a folder as somebody else wrote it: relative, its parts composed (NFC), no `.` and no `..` in
 * it; `.` for the folder itself.
 *
 * @param what what has this path, for the error.
 * @throws {ServiceError} 400 for a path that leads elsewhere, or would on another system.
 */
export function toSafePath(given: string, what = 'the archive'): string {
  const refuse = (why: string) =>
    badRequest(ID, `${what} has the path ${JSON.stringify(given.slice(0, 100))}, ${why}`)
  const path = given.normalize('NFC')
  if (path === '') throw refuse('which is empty')
  if (path.startsWith('/')) throw refuse('but paths must be relative')
  if (FOREIGN.test(path)) throw refuse('which has characters that paths must not have')
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) throw refuse('which leads out of its folder')
  const isLong = names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)
  if (isLong || Buffer.byteLength(path) > MAX_BYTES) throw refuse('which is too long')
  if (names.length > MAX_DEPTH) throw refuse(`but folders may be ${MAX_DEPTH} deep at most`)
  return names.length === 0 ? '.' : names.join('/')
}
