import { splitPath } from '../../core/http/path-segments.ts'
import { decodeSegment } from '../../core/path/decode.ts'

/** The path of a request as templates are matched against it. */
export interface RequestPath {
  /** Percent-decoded, each for itself: an encoded slash would not part two of them. */
  readonly segments: string[]
  /** What stands after the last `:` of the last segment, which still has it; empty: nothing. */
  readonly verb: string
  /** Some segment is not percent-encoded UTF-8, or holds what two readers may understand differently. */
  readonly malformed: boolean
}

/** Undefined for paths that match nothing: see {@link splitPath}. */
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
