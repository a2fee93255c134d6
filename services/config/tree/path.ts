import { FORBIDDEN } from '../../../core/request/fields.ts'

/** Most names of a path, and deepest nesting of values, lists included. */
export const MAX_DEPTH = 32
/** Longest path, bytes of UTF-8. */
export const MAX_PATH_BYTES = 1024

/** What a name must be, as errors say it. */
export const NAME_RULE =
  'not empty, not __proto__, constructor or prototype, and without dots and control characters'
/** What a path must be, as errors say it. */
export const PATH_RULE: string = `must be at most ${MAX_DEPTH} names joined by dots, ${MAX_PATH_BYTES} bytes in all; names are not empty, not __proto__, constructor or prototype, and without control characters`

/** Control characters, and halves of characters, which have no UTF-8. */
const UNWRITABLE = /[\p{Cc}\p{Surrogate}]/u

/** Whether a text is a path in dot notation (specification: Config entry); the empty one is that of the whole tree. */
export function isPath(path: string): boolean {
  if (path === '') return true
  if (path.length > MAX_PATH_BYTES || Buffer.byteLength(path) > MAX_PATH_BYTES) return false
  const names = path.split('.')
  return names.length <= MAX_DEPTH && names.every(isName)
}

/** Whether a map may have this name: one a path can name. */
export function isName(name: string): boolean {
  return name !== '' && !name.includes('.') && !FORBIDDEN.has(name) && !UNWRITABLE.test(name)
}

/** The names of a path: none of the empty one. */
export function parsePath(path: string): readonly string[] {
  return path === '' ? [] : path.split('.')
}

export function formatPath(names: readonly string[]): string {
  return names.join('.')
}
