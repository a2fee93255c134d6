import { decodeSegment } from './decode.ts'

/** A parsed path template (google.api.http: Path template syntax). */
export interface PathTemplate {
  /** `*` matches any one segment, `**` (at most once) any number of segments; others are percent-decoded literals. */
  readonly segments: readonly string[]
  /** Text after the last `:`; empty if none. */
  readonly verb: string
  /** Variables in path order. */
  readonly variables: readonly TemplateVariable[]
}

/** A variable and its segments, from `start` (inclusive) to `end` (exclusive). */
export interface TemplateVariable {
  /** Dotted name, such as `user.id`. */
  readonly name: string
  readonly start: number
  readonly end: number
}

const MAX_SEGMENTS = 32
const MAX_LENGTH = 1024
/** Maximum characters of a segment quoted in an error. */
const MAX_QUOTED = 100
/** `{name}` or `{name=segments}`. */
const VARIABLE = /\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?:=([^{}]*))?\}/y
const PLAIN = /[^/{}:]+/y
/** A literal that needs no decoding, as is usual. */
const WORD = /^[A-Za-z0-9_-]+$/
/** RFC 3986 §3.3 without `:`, which starts a verb, `*`, and `,`, which separates templates. */
const LITERAL = /^(?:[A-Za-z0-9._~!$&'()+;=@-]|%[0-9A-Fa-f]{2})+$/
const VERB = /^[A-Za-z0-9_-]+$/
/** Names that could pollute prototypes. */
const FORBIDDEN = /(?:^|\.)(?:__proto__|constructor|prototype)(?:\.|$)/

/**
 * Parses a path template with segments `literal`, `*`, `**`, `{name}` and `{name=segments}`, and an optional `:verb`.
 * `**` may occur anywhere, but only once. A trailing slash is ignored.
 *
 * @throws {RangeError} if the template is invalid.
 */
export function parseTemplate(text: string): PathTemplate {
  if (text.length > MAX_LENGTH) throw new RangeError(`it is longer than ${MAX_LENGTH} characters`)
  if (!text.startsWith('/')) throw new RangeError('it must begin with /')
  const segments: string[] = []
  const variables: TemplateVariable[] = []
  let verb = ''
  // `at` is the start of a segment, after its slash.
  for (let at = 1; at < text.length; at++) {
    VARIABLE.lastIndex = at
    PLAIN.lastIndex = at
    const variable = VARIABLE.exec(text)
    if (variable !== null) {
      const [matched, name, inner = '*'] = variable
      const start = segments.length
      for (const segment of inner.split('/')) segments.push(toSegment(segment))
      variables.push({ name: checkName(name!, variables), start, end: segments.length })
      at += matched.length
    } else {
      if (text[at] === '{') throw new RangeError('a variable must be {name} or {name=segments}')
      const plain = PLAIN.exec(text)?.[0] ?? ''
      segments.push(toSegment(plain))
      at += plain.length
    }
    if (text[at] === ':') {
      verb = text.slice(at + 1)
      if (!VERB.test(verb)) throw new RangeError('":" is only allowed before a verb at the end')
      break
    }
    if (at < text.length && text[at] !== '/') {
      throw new RangeError(`a segment must be a literal, *, ** or {name}, not a combination`)
    }
  }
  if (segments.length > MAX_SEGMENTS)
    throw new RangeError(`it has more than ${MAX_SEGMENTS} segments`)
  if (segments.filter((segment) => segment === '**').length > 1)
    throw new RangeError('** is only allowed once')
  return { segments, verb, variables }
}

function toSegment(text: string): string {
  if (text === '*' || text === '**' || WORD.test(text)) return text
  if (text === '') throw new RangeError('a segment is empty')
  if (!LITERAL.test(text)) {
    throw new RangeError(`a segment must be a literal, *, ** or {name}, got ${quote(text)}`)
  }
  const decoded = decodeSegment(text)
  if (decoded === undefined || /^\.{1,2}(?:;|$)/.test(decoded))
    throw new RangeError(`segment ${quote(text)} cannot match any path`)
  return decoded
}

function checkName(name: string, variables: readonly TemplateVariable[]): string {
  if (FORBIDDEN.test(name)) throw new RangeError(`a variable must not be named ${name}`)
  if (variables.some((variable) => variable.name === name))
    throw new RangeError(`duplicate variable ${name}`)
  return name
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, MAX_QUOTED))
}
