import { skipBlanks, skipValue } from '../core/request/json-text.ts'

/**
 * The same JSON with other blanks: its numbers stay as they are written.
 *
 * @param text that `JSON.parse` accepts.
 * @param indent blanks for each level; 0: none at all, on one line.
 */
export function reindentJson(text: string, indent: number): string {
  const parts: string[] = []
  let depth = 0
  const breakLine = (): void => {
    if (indent > 0) parts.push('\n', ' '.repeat(indent * depth))
  }
  for (let at = skipBlanks(text, 0); at < text.length; at = skipBlanks(text, at)) {
    const one = text[at]!
    switch (one) {
      case '{':
      case '[': {
        parts.push(one)
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
        parts.push(one)
        at++
        break
      case ',':
        parts.push(one)
        breakLine()
        at++
        break
      case ':':
        parts.push(indent > 0 ? ': ' : ':')
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
