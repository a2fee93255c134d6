import { type PathTemplate, parseTemplate } from './template.ts'

/** Segment of a regular expression that a template can express, with its slash. */
const SEGMENT =
  /\/(?:(?<any>\[\^\/\]\+|\(\[\^\/\]\+\))|\(\?P?<(?<name>[A-Za-z_][A-Za-z0-9_]*)>\[\^\/\]\+\)|(?<rest>\.\*|\(\.\*\))|(?<literal>(?:[A-Za-z0-9_~!&'=@%-]|\\[^A-Za-z0-9/])+))/y

/**
 * Parses the path of a declared endpoint: a template, or a regular expression `^...$` that a template can express. Regular
 * expressions are never executed, so that none can make matching slow.
 *
 * @throws {RangeError}
 */
export function parsePath(text: string): PathTemplate {
  const begins = text.startsWith('^')
  const ends = text.endsWith('$')
  if (!begins && !ends) return parseTemplate(text)
  if (!begins || !ends) throw new RangeError('a regular expression must have both ^ and $')
  return parseTemplate(toTemplate(text.slice(1, -1)))
}

function toTemplate(pattern: string): string {
  // An optional slash at the end has no meaning: templates ignore it.
  const whole = pattern.replaceAll('\\/', '/').replace(/\/\??$/, '')
  if (pattern === '') throw new RangeError('it must begin with /')
  let template = ''
  let at = 0
  while (at < whole.length) {
    SEGMENT.lastIndex = at
    const match = SEGMENT.exec(whole)
    const { any, name, rest, literal } = match?.groups ?? {}
    const end = at + (match?.[0].length ?? 0)
    if (match === null || (end < whole.length && (rest !== undefined || whole[end] !== '/'))) {
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
