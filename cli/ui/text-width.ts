/** Characters that occupy two columns (Unicode Standard Annex 11, wide and fullwidth), and emoji. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f1e6}-\u{1f1ff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}|\ufe0f/u
/** Zero-width characters: accents, joiners and invisible characters. */
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
const PLAIN = /^[\x20-\x7e]*$/
const LETTERS = new Intl.Segmenter()

/** Width of a text in terminal columns. */
export function findTextWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of LETTERS.segment(text)) width += findLetterWidth(segment)
  return width
}

/** Truncates a text to a number of columns. */
export function cutText(text: string, columns: number): string {
  if (PLAIN.test(text)) return text.slice(0, columns)
  let width = 0
  let end = 0
  for (const { segment } of LETTERS.segment(text)) {
    width += findLetterWidth(segment)
    if (width > columns) break
    end += segment.length
  }
  return text.slice(0, end)
}

/** @param letter a grapheme cluster */
function findLetterWidth(letter: string): number {
  if (ZERO_WIDTH.test(letter)) return 0
  return WIDE.test(letter) ? 2 : 1
}
