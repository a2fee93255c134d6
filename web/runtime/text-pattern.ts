/** Case-insensitive search text. */
export interface TextPattern {
  readonly isIn: (text: string) => boolean
  /** Splits a text at the matches. Elements at odd indexes are the matches. */
  readonly split: (text: string) => readonly string[]
}

/** Creates a pattern; undefined for an empty text. */
export function createTextPattern(search: string): TextPattern | undefined {
  if (search === '') return undefined
  const literal = search.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const pattern = new RegExp(literal, 'iu')
  const separator = new RegExp(`(${literal})`, 'iu')
  return { isIn: (text) => pattern.test(text), split: (text) => text.split(separator) }
}
