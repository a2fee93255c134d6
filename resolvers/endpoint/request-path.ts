import { splitPath } from '../../core/http/path-segments.ts'
import { decodeSegment } from '../../core/path/decode.ts'

/** Path of a request, parsed for matching. */
export interface RequestPath {
  /** Percent-decoded one by one, so that an encoded slash does not separate segments. */
  readonly segments: string[]
  /** Text after the last `:` of the last segment, which still contains it; empty without one. */
  readonly verb: string
  /** A segment is not percent-encoded UTF-8, or contains characters that parsers interpret differently. */
  readonly malformed: boolean
}

/** Undefined for paths that match no template: see {@link splitPath}. */
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
