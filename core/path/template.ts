import { decodeSegment } from './decode.ts'

/** A parsed path template (google.api.http: Path template syntax). */
export interface PathTemplate {
  /** `*`: any one segment; `**`: any number of them, at most once; others stand for themselves, percent-decoded. */
  readonly segments: readonly string[]
  /** What stands after the last `:`; empty: nothing. */
  readonly verb: string
  /** In the order of the path. */
  readonly variables: readonly TemplateVariable[]
}

/** A variable and the segments of the template it covers, from `start` up to `end`. */
export interface TemplateVariable {
  /** Names joined by dots: `user.id`. */
  readonly name: string
  readonly start: number
  readonly end: number
}

const MAX_SEGMENTS = 32
const MAX_LENGTH = 1024
/** Longest text repeated in an error. */
const MAX_SHOWN = 100
/** `{name}` or `{name=segments}`. */
const VARIABLE = /\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?:=([^{}]*))?\}/y
const PLAIN = /[^/{}:]+/y
/** A literal that says what it is: most are. */
const WORD = /^[A-Za-z0-9_-]+$/
/** RFC 3986 §3.3 without `:`, which begins a verb, `*`, and `,`, which separates templates. */
const LITERAL = /^(?:[A-Za-z0-9._~!$&'()+;=@-]|%[0-9A-Fa-f]{2})+$/
const VERB = /^[A-Za-z0-9_-]+$/
/** Names that mean something else to objects. */
const FORBIDDEN = /(?:^|\.)(?:__proto__|constructor|prototype)(?:\.|$)/

/**
 * Reads a path template: segments `literal`, `*`, `**` and `{name}`, `{name=segments}`, then maybe `:verb`.
 * `**` may stand anywhere, once. A slash at the end says nothing.
 *
 * @throws {RangeError} saying what is wrong.
 */
export function parseTemplate(text: string): PathTemplate {
  if (text.length > MAX_LENGTH) throw new RangeError(`it is longer than ${MAX_LENGTH} characters`)
  if (!text.startsWith('/')) throw new RangeError('it must begin with /')
  const segments: string[] = []
  const variables: TemplateVariable[] = []
  let verb = ''
  // `at`: behind the slash in front of a segment.
  for (let at = 1; at < text.length; at++) {
    VARIABLE.lastIndex = at
    PLAIN.lastIndex = at
    const variable = VARIABLE.exec(text)
    if (variable !== null) {
      const [whole, name, inner = '*'] = variable
      const start = segments.length
      for (const segment of inner.split('/')) segments.push(toSegment(segment))
      variables.push({ name: checkName(name!, variables), start, end: segments.length })
      at += whole.length
    } else {
      if (text[at] === '{') throw new RangeError('a variable must be {name} or {name=segments}')
      const plain = PLAIN.exec(text)?.[0] ?? ''
      segments.push(toSegment(plain))
      at += plain.length
    }
    if (text[at] === ':') {
      verb = text.slice(at + 1)
      if (!VERB.test(verb)) throw new RangeError('":" may only stand before a verb at the end')
      break
    }
    if (at < text.length && text[at] !== '/') {
      throw new RangeError(`a segment must be a literal, *, ** or {name}, not partly one of them`)
    }
  }
  if (segments.length > MAX_SEGMENTS)
    throw new RangeError(`it has more than ${MAX_SEGMENTS} segments`)
  if (segments.filter((segment) => segment === '**').length > 1)
    throw new RangeError('** may stand only once')
  return { segments, verb, variables }
}

function toSegment(text: string): string {
  if (text === '*' || text === '**' || WORD.test(text)) return text
  if (text === '') throw new RangeError('a segment is empty')
  if (!LITERAL.test(text)) {
    throw new RangeError(`a segment must be a literal, *, ** or {name}, got ${show(text)}`)
  }
  const decoded = decodeSegment(text)
  if (decoded === undefined || /^\.{1,2}(?:;|$)/.test(decoded))
    throw new RangeError(`segment ${show(text)} can match no path`)
  return decoded
}

function checkName(name: string, variables: readonly TemplateVariable[]): string {
  if (FORBIDDEN.test(name)) throw new RangeError(`a variable must not be called ${name}`)
  if (variables.some((variable) => variable.name === name))
    throw new RangeError(`variable ${name} stands twice`)
  return name
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, MAX_SHOWN))
}
