const FLAGS = /\s*\[flags\]$/
const TOKEN = /\[[^\]]*\]|<[^>]*>|\S+/g
const WORD = /^[a-z]+$/
/** `[set <name>]`: words that may follow. One word in brackets stands for an argument. */
const OPTIONAL = /^\[([a-z]+) .*\]$/s

/**
 * The words that may stand behind a command, read from its usage, so that help and completion say the same:
 * `auth <list rules | create rule <id>> [flags]` is `list rules` and `create rule`.
 */
export function listUsageWords(usage: string): readonly (readonly string[])[] {
  const body = usage.replace(FLAGS, '').replace(/^\S+\s*/, '')
  const alternatives = splitAlternatives(findGroup(body))
  return (alternatives.length > 1 ? alternatives : [body]).map(toWords)
}

/** What is in the brackets at the beginning; empty: there are none. */
function findGroup(text: string): string {
  if (!/^[[<]/.test(text)) return ''
  let depth = 0
  for (const [i, letter] of [...text].entries()) {
    if ('[<'.includes(letter)) depth++
    if (']>'.includes(letter) && --depth === 0) return text.slice(1, i)
  }
  return ''
}

/** At the bars that are in no brackets. */
function splitAlternatives(text: string): readonly string[] {
  const parts = ['']
  let depth = 0
  for (const letter of text) {
    if ('[<'.includes(letter)) depth++
    if (']>'.includes(letter)) depth--
    if (letter === '|' && depth === 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts.map((part) => part.trim())
}

function toWords(alternative: string): readonly string[] {
  const words: string[] = []
  for (const token of alternative.match(TOKEN) ?? []) {
    const word = WORD.test(token) ? token : OPTIONAL.exec(token)?.[1]
    if (word === undefined) break
    words.push(word)
    if (word !== token) break
  }
  return words
}
