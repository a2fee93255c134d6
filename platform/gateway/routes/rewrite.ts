import type { Exchange } from '../../../core/exchange.ts'
import { decodeSegment } from '../../../core/path/decode.ts'
import type { PathTemplate } from '../../../core/path/template.ts'

/** Value of a template for one request. */
export type Render = (x: Exchange) => string

/** How {@link compileText} encodes the values of placeholders. */
export type Encode = (value: string) => string

const PLACEHOLDER = /\{([^{}]*)\}/g
const HEADER = /^header\.([A-Za-z0-9!#$%&'*+.^_`|~-]+)$/

/**
 * Compiles a text with the placeholders `{name}` (path variable), `{rest}` (segments matched by `**`), `{header.x}`, `{client_ip}`, `{host}`
 * and `{path}`.
 *
 * @param template of the path that the route matches; undefined: it matches any path.
 * @throws {RangeError} for an unknown placeholder.
 */
export function compileText(
  text: string,
  template: PathTemplate | undefined,
  encode: Encode,
): Render {
  const parts: (string | Render)[] = []
  let end = 0
  for (const match of text.matchAll(PLACEHOLDER)) {
    parts.push(text.slice(end, match.index), compilePlaceholder(match[1]!, template, encode))
    end = match.index + match[0].length
  }
  parts.push(text.slice(end))
  if (/[{}]/.test(parts.filter((part) => typeof part === 'string').join('')))
    throw new RangeError(`unmatched brace in ${JSON.stringify(text)}`)
  if (parts.length === 1) return () => text
  return (x) => {
    let result = ''
    for (const part of parts) result += typeof part === 'string' ? part : part(x)
    return result
  }
}

function compilePlaceholder(
  name: string,
  template: PathTemplate | undefined,
  encode: Encode,
): Render {
  if (name === 'client_ip') return (x) => encode(x.clientAddress)
  if (name === 'host') return (x) => encode(x.host)
  if (name === 'path') return (x) => x.path
  const header = HEADER.exec(name)?.[1]?.toLowerCase()
  if (header !== undefined) return (x) => encode(x.headers.get(header) ?? '')
  const names = template?.variables.map((variable) => variable.name) ?? []
  if (names.includes(name)) return (x) => encode(findVariable(x, name))
  if (name === 'rest' && template?.segments.includes('**')) {
    const before = template.segments.indexOf('**')
    const after = template.segments.length - before - 1
    return (x) => restOf(x.path, before, after)
  }
  const known = [...names, 'client_ip', 'host', 'path', 'header.<name>']
  if (template?.segments.includes('**')) known.unshift('rest')
  throw new RangeError(`unknown placeholder {${name}}, expected {${known.join('}, {')}}`)
}

function findVariable(x: Exchange, name: string): string {
  return x.route?.variables?.find(([variable]) => variable === name)?.[1] ?? ''
}

/** Segments of a path as received, without the first and the last ones. */
function restOf(path: string, before: number, after: number): string {
  const segments = path.slice(1).split('/')
  return segments.slice(before, after === 0 ? undefined : -after).join('/')
}

/** Encodes a value for a path; slashes separate the segments of a variable that covers several. */
export function encodePath(value: string): string {
  return value.split('/').map(encodeURIComponent).join('/')
}

/**
 * Replaces the leading segments `prefix` of a path as received, as `ReplacePrefixMatch` of the Gateway API does: `/a` with `/a` replaced by
 * `/b` is `/b`. A path that does not begin with them only gets the replacement in front.
 *
 * @param prefix percent-decoded segments
 * @param replacement empty, or begins with a slash
 */
export function replacePrefix(
  path: string,
  prefix: readonly string[],
  replacement: string,
): string {
  const segments = path.slice(1).split('/')
  if (!prefix.every((segment, i) => decodeSegment(segments[i] ?? '') === segment))
    return replacement + path
  const rest = segments.slice(prefix.length)
  return rest.length === 0 && replacement !== '' ? replacement : `${replacement}/${rest.join('/')}`
}
