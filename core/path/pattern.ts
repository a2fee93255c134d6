import { type PathTemplate, parseTemplate } from './template.ts'

/** One segment of a regular expression that a template can say: slash, then what stands there. */
const SEGMENT =
  /\/(?:(?<any>\[\^\/\]\+|\(\[\^\/\]\+\))|\(\?P?<(?<name>[A-Za-z_][A-Za-z0-9_]*)>\[\^\/\]\+\)|(?<rest>\.\*|\(\.\*\))|(?<literal>(?:[A-Za-z0-9_~!&'=@%-]|\\[^A-Za-z0-9/])+))/y

/**
 * Reads a path as endpoints declare it: a template, or a regular expression `^...$` that says no more
 * than a template can. Regular expressions are never run: no declared one can make matching slow.
 *
 * @throws {RangeError} saying what is wrong.
 */
export function parsePath(text: string): PathTemplate {
  const begins = text.startsWith('^')
  const ends = text.endsWith('$')
  if (!begins && !ends) return parseTemplate(text)
  if (!begins || !ends) throw new RangeError('a regular expression must have both ^ and $')
  return parseTemplate(toTemplate(text.slice(1, -1)))
}

function toTemplate(pattern: string): string {
  // A slash that may or may not be there says nothing: none at the end ever does.
  const whole = pattern.replaceAll('\\/', '/').replace(/\/\??$/, '')
  if (pattern === '') throw new RangeError('it must begin with /')
  let template = ''
  let at = 0
  while (at < whole.length) {
    SEGMENT.lastIndex = at
    const found = SEGMENT.exec(whole)
    const { any, name, rest, literal } = found?.groups ?? {}
    const end = at + (found?.[0].length ?? 0)
    if (found === null || (end < whole.length && (rest !== undefined || whole[end] !== '/'))) {
      throw new RangeError(
        'of regular expressions only plain segments, [^/]+ and a last .* are served; write a template such as /users/{id}',
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
