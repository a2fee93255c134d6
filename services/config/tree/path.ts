import { FORBIDDEN } from '../../../core/request/fields.ts'

/** Maximum number of names in a path, and maximum nesting of values, including lists. */
export const MAX_DEPTH = 32
/** Maximum length of a path in bytes of UTF-8. */
export const MAX_PATH_BYTES = 1024

/** Rule for names, for errors. */
export const KEY_RULE =
  'not empty, not __proto__, constructor or prototype, and without dots and control characters'
/** Rule for paths, for errors. */
export const PATH_RULE: string = `must be at most ${MAX_DEPTH} names joined by dots, ${MAX_PATH_BYTES} bytes in all; names are not empty, not __proto__, constructor or prototype, and without control characters`

/** Control characters and lone surrogates, which have no UTF-8 encoding. */
const UNWRITABLE = /[\p{Cc}\p{Surrogate}]/u

/** Whether a text is a path in dot notation (specification: Config entry); the empty path is the whole tree. */
export function isPath(path: string): boolean {
  if (path === '') return true
  if (path.length > MAX_PATH_BYTES || Buffer.byteLength(path) > MAX_PATH_BYTES) return false
  const names = path.split('.')
  return names.length <= MAX_DEPTH && names.every(isName)
}

/** Whether a map may have this name, so that a path can refer to it. */
export function isName(name: string): boolean {
  return name !== '' && !name.includes('.') && !FORBIDDEN.has(name) && !UNWRITABLE.test(name)
}

/** Splits a path into names; none for the empty path. */
export function splitConfigPath(path: string): readonly string[] {
  return path === '' ? [] : path.split('.')
}

export function formatPath(names: readonly string[]): string {
  return names.join('.')
}
