import { FORBIDDEN } from '../../../core/request/fields.ts'

/** Maximum number of names in a path, and maximum nesting depth of values including lists. */
export const MAX_DEPTH = 32
/** Maximum length of a path in bytes of UTF-8. */
export const MAX_PATH_BYTES = 1024

/** Rule for names, used in error messages. */
export const KEY_RULE =
  'must not be empty, `__proto__`, `constructor` or `prototype`, and must not contain dots or control characters'
/** Rule for paths, used in error messages. */
export const PATH_RULE: string = `must be at most ${MAX_DEPTH} names joined by dots, ${MAX_PATH_BYTES} bytes in total; names must not be empty, \`__proto__\`, \`constructor\` or \`prototype\`, and must not contain dots or control characters`

/** Matches control characters and lone surrogates, which have no UTF-8 encoding. */
const UNWRITABLE = /[\p{Cc}\p{Surrogate}]/u

/**
 * Returns whether a text is a path in dot notation (specification: Config entry). The empty path is
 * the entire tree.
 */
export function isPath(path: string): boolean {
  if (path === '') return true
  if (path.length > MAX_PATH_BYTES || Buffer.byteLength(path) > MAX_PATH_BYTES) return false
  const names = path.split('.')
  return names.length <= MAX_DEPTH && names.every(isName)
}

/** Returns whether a map may contain this name, so that paths can refer to it. */
export function isName(name: string): boolean {
  return name !== '' && !name.includes('.') && !FORBIDDEN.has(name) && !UNWRITABLE.test(name)
}

/** Splits a path into names. The empty path has none. */
export function splitConfigPath(path: string): readonly string[] {
  return path === '' ? [] : path.split('.')
}

export function formatPath(names: readonly string[]): string {
  return names.join('.')
}
