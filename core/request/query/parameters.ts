/** RFC 9110 §5.6.2. */
const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y

/** Returns the end of the token at `at`, or `at` if there is no token. */
export function skipToken(text: string, at: number): number {
  TOKEN.lastIndex = at
  return TOKEN.test(text) ? TOKEN.lastIndex : at
}

/**
 * Parses the parameters of a header value from `at` to its end: `; name=token; name="quoted"` (RFC 9110 §5.6.6). Names
 * are converted to lower case. Returns undefined if they are malformed or one is repeated.
 *
 * A backslash escapes quotes and itself; otherwise it is literal, as in file names sent by browsers.
 */
export function parseParameters(text: string, at: number): Map<string, string> | undefined {
  const parameters = new Map<string, string>()
  let i = skipBlanks(text, at)
  while (i < text.length) {
    if (text[i] !== ';') return undefined
    i = skipBlanks(text, i + 1)
    // Empty parameters are allowed.
    if (i === text.length || text[i] === ';') continue
    const nameEnd = skipToken(text, i)
    const name = text.slice(i, nameEnd).toLowerCase()
    if (name === '' || text[nameEnd] !== '=' || parameters.has(name)) return undefined
    i = nameEnd + 1
    const isQuoted = text[i] === '"'
    const end = isQuoted ? skipQuoted(text, i) : skipToken(text, i)
    if (end === i) return undefined
    parameters.set(name, isQuoted ? unquote(text.slice(i + 1, end - 1)) : text.slice(i, end))
    i = skipBlanks(text, end)
  }
  return parameters
}

/** Returns the end of the quoted string at `at`, or `at` if it is unterminated or contains a control character. */
function skipQuoted(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const char = text[i]!
    if (char === '"') return i + 1
    if (char === '\\' && isEscapable(text[i + 1])) i++
    else if ((char < ' ' && char !== '\t') || char === '\x7f') return at
  }
  return at
}

function unquote(text: string): string {
  if (!text.includes('\\')) return text
  let plain = ''
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\' && isEscapable(text[i + 1])) i++
    plain += text[i]
  }
  return plain
}

function isEscapable(char: string | undefined): boolean {
  return char === '"' || char === '\\'
}

function skipBlanks(text: string, at: number): number {
  let i = at
  while (text[i] === ' ' || text[i] === '\t') i++
  return i
}
