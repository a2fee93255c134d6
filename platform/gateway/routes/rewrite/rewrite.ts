import { GATEWAY_ID, GatewayError } from '../../../../core/errors.ts'
import type { Exchange } from '../../../../core/exchange.ts'
import { checkPath } from '../../../../core/path/check.ts'
import { decodeSegment, isAmbiguous } from '../../../../core/path/decode.ts'
import type { PathTemplate } from '../../../../core/path/template.ts'

/** Returns the value of a template for a request. */
export type Render = (x: Exchange) => string

/**
 * Encodes the value of a placeholder in {@link compileText}. `header` is the name of the header
 * that contains the value.
 */
export type Encode = (value: string, header?: string) => string

const PLACEHOLDER = /\{([^{}]*)\}/g
const HEADER = /^header\.([A-Za-z0-9!#$%&'*+.^_`|~-]+)$/

/**
 * Compiles a text with the placeholders `{name}` (path variable), `{rest}` (segments matched by
 * `**`), `{header.x}`, `{client_ip}`, `{host}` and `{path}`.
 *
 * @param template template of the path that the route matches; undefined if it matches any path.
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
  if (header !== undefined) return (x) => encode(x.headers.get(header) ?? '', header)
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

/**
 * Returns the segments of a path as received, without the first `before` and the last `after`
 * segments.
 */
function restOf(path: string, before: number, after: number): string {
  const segments = path.slice(1).split('/')
  return segments.slice(before, after === 0 ? undefined : -after).join('/')
}

/**
 * Compiles a path. A request value must not lead to a different path, so the request fails with 400
 * if the result is invalid or contains empty segments.
 *
 * @throws {RangeError} for an unknown placeholder or for text that is invalid in a path.
 */
export function compilePath(text: string, template: PathTemplate | undefined): Render {
  const check = (path: string): string | undefined =>
    path.includes('//') ? 'the path must not contain empty segments' : checkPath(path, true)
  const render = compileText(text, template, encodePath)
  const example = text.replace(PLACEHOLDER, (_, name) => (name === 'path' ? '/1' : '1'))
  const problem = check(example)
  if (problem !== undefined) throw new RangeError(`${problem}, got ${JSON.stringify(text)}`)
  return (x) => {
    const result = render(x)
    const problem = check(result)
    if (problem !== undefined) throw reject(`${problem}, got ${JSON.stringify(result)}`)
    return result
  }
}

/** The slashes in a variable separate the segments that it covers. A header is a single segment. */
function encodePath(value: string, header?: string): string {
  if (header !== undefined && isAmbiguous(value))
    throw reject(
      `header ${header} must not contain control characters, slashes or percent-encoded bytes, got ${JSON.stringify(value)}`,
    )
  return value.split('/').map(encodeURIComponent).join('/')
}

function reject(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, detail)
}

/**
 * Replaces the leading segments `prefix` of a path as received, like `ReplacePrefixMatch` in the
 * Gateway API: replacing `/a` with `/b` turns `/a` into `/b`. Undefined if the path does not start with
 * the prefix.
 *
 * @param prefix percent-decoded segments
 * @param replacement empty, or starts with a slash
 */
export function replacePrefix(
  path: string,
  prefix: readonly string[],
  replacement: string,
): string | undefined {
  const segments = path.slice(1).split('/')
  if (!prefix.every((segment, i) => decodeSegment(segments[i] ?? '') === segment)) return undefined
  const rest = segments.slice(prefix.length)
  return rest.length === 0 && replacement !== '' ? replacement : `${replacement}/${rest.join('/')}`
}
