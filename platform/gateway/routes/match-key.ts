import { listSpellings } from '../../../core/path/canonical.ts'
import type { RequestLine } from '../../../core/route.ts'
import { withPath } from '../../../resolvers/endpoint/other-spelling.ts'
import { parseRequestPath } from '../../../resolvers/endpoint/request-path.ts'
import type { Bucket, RouteTree } from '../../../resolvers/endpoint/route-tree.ts'
import type { ConditionalRoute } from './route-list.ts'

/**
 * Key of the route cache for a request whose path, host and method have the key `base`. It holds the matching route, not the values of
 * conditions, so its length and the number of keys do not depend on what clients send.
 */
export type MatchKey = (request: RequestLine, base: string) => string

/** A function if it depends on conditions. */
type Entry = ((request: RequestLine) => string) | string

/** The cache is cleared beyond so many paths. */
const MAX_CACHED = 10_000
/** Longest cached base, characters, as in the route cache. */
const MAX_LENGTH = 256

/** Evaluates conditions only if a route of the path and host has some. */
export function createMatchKey<R extends ConditionalRoute>(tree: RouteTree<R>): MatchKey {
  const cache = new Map<string, Entry>()
  return (request, base) => {
    let entry = cache.get(base)
    if (entry === undefined) {
      entry = createEntry(tree, request, base)
      if (cache.size >= MAX_CACHED) cache.clear()
      if (base.length <= MAX_LENGTH) cache.set(base, entry)
    }
    return typeof entry === 'string' ? entry : entry(request)
  }
}

function createEntry<R extends ConditionalRoute>(
  tree: RouteTree<R>,
  request: RequestLine,
  base: string,
): Entry {
  const buckets = listBuckets(tree, request)
  const spellings = listSpellings(request.path)
  const others = spellings.flatMap((path) => listBuckets(tree, withPath(request, path)))
  if (!buckets.some(isConditional) && !others.some(isConditional)) return base
  if (spellings.length > 0) {
    const paths = [request.path, ...spellings]
    return (request) => base + describeSpellings(tree, request, paths)
  }
  let last = -1
  let key = `${base}\n${last}`
  return (request) => {
    const position = findPosition(buckets, request)
    if (position === last) return key
    last = position
    key = `${base}\n${position}`
    return key
  }
}

function listBuckets<R extends ConditionalRoute>(
  tree: RouteTree<R>,
  request: RequestLine,
): readonly Bucket<R>[] {
  const path = parseRequestPath(request.path)
  return path === undefined ? [] : tree.list(request, path)
}

function isConditional({ isConditional }: { readonly isConditional: boolean }): boolean {
  return isConditional
}

/** -1: no route matches. */
function findPosition<R extends ConditionalRoute>(
  buckets: readonly Bucket<R>[],
  request: RequestLine,
): number {
  for (const bucket of buckets) {
    const found = bucket.find(request)
    if (found !== undefined) return found.position
  }
  return -1
}

/** Whether a path is rejected depends on the result for each spelling, including the allowed methods. */
function describeSpellings<R extends ConditionalRoute>(
  tree: RouteTree<R>,
  request: RequestLine,
  paths: readonly string[],
): string {
  let text = ''
  for (const path of paths) {
    const parsed = parseRequestPath(path)
    const found = parsed && tree.find(withPath(request, path), parsed)
    text += `\n${typeof found === 'object' ? found.position : (found ?? '')}`
  }
  return text
}
