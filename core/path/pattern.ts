import { type PathTemplate, parseTemplate } from './template.ts'

/** Segment of a regular expression that a template can express, including its slash. */
const SEGMENT =
  /\/(?:(?<any>\[\^\/\]\+|\(\[\^\/\]\+\))|\(\?P?<(?<name>[A-Za-z_][A-Za-z0-9_]*)>\[\^\/\]\+\)|(?<rest>\.\*|\(\.\*\))|(?<literal>(?:[A-Za-z0-9_~!&'=@%-]|\\[^A-Za-z0-9/])+))/y

/**
 * Parses the path of a declared endpoint: a template, or a regular expression `^...$` that a template can express.
 * Regular expressions are never executed, so they cannot slow down matching.
 *
 * @throws {RangeError} if the path is invalid.
 */
export function parsePath(text: string): PathTemplate {
  const hasStart = text.startsWith('^')
  const hasEnd = text.endsWith('$')
  if (!hasStart && !hasEnd) return parseTemplate(text)
  if (!hasStart || !hasEnd) throw new RangeError('a regular expression must have both ^ and $')
  return parseTemplate(toTemplate(text.slice(1, -1)))
}

function toTemplate(pattern: string): string {
  // An optional trailing slash has no meaning, since templates ignore it.
  const trimmed = pattern.replaceAll('\\/', '/').replace(/\/\??$/, '')
  if (pattern === '') throw new RangeError('it must begin with /')
  let template = ''
  let at = 0
  while (at < trimmed.length) {
    SEGMENT.lastIndex = at
    const match = SEGMENT.exec(trimmed)
    const { any, name, rest, literal } = match?.groups ?? {}
    const end = at + (match?.[0].length ?? 0)
    if (match === null || (end < trimmed.length && (rest !== undefined || trimmed[end] !== '/'))) {
      throw new RangeError(
        'a regular expression may only contain literal segments, [^/]+ and a final .*; write a template such as /users/{id}',
      )
    }
    if (any !== undefined) template += '/*'
    else if (name !== undefined) template += `/{${name}}`
    else if (rest !== undefined) template += '/**'
    else template += `/${literal!.replaceAll('\\', '')}`
    at = end
  }
  return template === '' ? '/' : template
}
