import { skipBlanks, skipValue } from './json-text.ts'

/**
 * Changes the indentation of a JSON text without changing its numbers.
 *
 * @param text that `JSON.parse` accepts.
 * @param indent indentation per level, such as a tab; empty for a single line without whitespace.
 */
export function reindentJson(text: string, indent: string): string {
  const parts: string[] = []
  let depth = 0
  const breakLine = (): void => {
    if (indent !== '') parts.push('\n', indent.repeat(depth))
  }
  for (let at = skipBlanks(text, 0); at < text.length; at = skipBlanks(text, at)) {
    const char = text[at]!
    switch (char) {
      case '{':
      case '[': {
        parts.push(char)
        at = skipBlanks(text, at + 1)
        const isEmpty = text[at] === '}' || text[at] === ']'
        if (isEmpty) parts.push(text[at++]!)
        else {
          depth++
          breakLine()
        }
        break
      }
      case '}':
      case ']':
        depth--
        breakLine()
        parts.push(char)
        at++
        break
      case ',':
        parts.push(char)
        breakLine()
        at++
        break
      case ':':
        parts.push(indent === '' ? ':' : ': ')
        at++
        break
      default: {
        const end = skipValue(text, at)
        parts.push(text.slice(at, end))
        at = end
      }
    }
  }
  return parts.join('')
}
