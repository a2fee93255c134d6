/** A text that is looked for, in any letter case. */
export interface TextPattern {
  readonly isIn: (text: string) => boolean
  /** The text in pieces: those at odd places are what was looked for. */
  readonly split: (text: string) => readonly string[]
}

/** Undefined: nothing is looked for. */
export function createTextPattern(wanted: string): TextPattern | undefined {
  if (wanted === '') return undefined
  const literal = wanted.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const one = new RegExp(literal, 'iu')
  const all = new RegExp(`(${literal})`, 'iu')
  return { isIn: (text) => one.test(text), split: (text) => text.split(all) }
}
