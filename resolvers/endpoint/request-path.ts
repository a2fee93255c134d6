import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import { splitPath } from '../../core/http/path-segments.ts'
import { decodeSegment } from '../../core/path/decode.ts'
import type { PathTemplate } from '../../core/path/template.ts'
import type { Route } from '../../core/route.ts'

/** Path of a request parsed for matching. */
export interface RequestPath {
  /** Individually percent-decoded segments, so that an encoded slash does not separate them. */
  readonly segments: string[]
  /** Text after the last `:` of the last segment, which still contains it; empty if none. */
  readonly verb: string
  /** Whether a segment is not percent-encoded UTF-8 or contains characters that parsers interpret differently. */
  readonly malformed: boolean
}

/** Parses a path. Returns undefined for paths that match no template, see {@link splitPath}. */
export function parseRequestPath(path: string): RequestPath | undefined {
  const segments = splitPath(path)
  if (segments === undefined) return undefined
  const last = segments.at(-1) ?? ''
  const colon = last.lastIndexOf(':')
  const verb = colon < 0 ? '' : last.slice(colon + 1)
  let malformed = false
  if (path.includes('%')) {
    for (const [i, segment] of segments.entries()) {
      if (!segment.includes('%')) continue
      const decoded = decodeSegment(segment)
      if (decoded === undefined) malformed = true
      else segments[i] = decoded
    }
  }
  return { segments, verb: verb.includes('%') ? '' : verb, malformed }
}

/** Creates the 400 error for a malformed path that matches a route. */
export function rejectEncoding(): GatewayError {
  return new GatewayError(
    GATEWAY_ID,
    400,
    'path must be percent-encoded UTF-8, without encoded control characters, slashes or escapes',
  )
}

/** Returns the values of a template's variables in a path that it matches. */
export function readVariables(
  template: PathTemplate,
  segments: readonly string[],
): Route['variables'] {
  if (template.variables.length === 0) return undefined
  const more = segments.length - template.segments.length
  const multi = more === 0 ? -1 : template.segments.indexOf('**')
  /** Positions after `**` shift by the number of additional segments that it covers. */
  const toPosition = (at: number): number => (multi >= 0 && at > multi ? at + more : at)
  return template.variables.map(({ name, start, end }) => [
    name,
    segments.slice(toPosition(start), toPosition(end)).join('/'),
  ])
}
