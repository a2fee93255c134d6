import { toHostName } from '../../core/http/host/host-name.ts'
import type { PathTemplate } from '../../core/path/template.ts'
import type { RequestLine } from '../../core/route.ts'
import type { RequestPath } from './request-path.ts'

/** Maximum number of tree nodes that a request may visit; real routes need about ten. */
const MAX_COST = 1000
/** Maximum number of combinations of path, host and method. */
const MAX_SLOTS = 500_000
/** Maximum length of a host in characters (RFC 1035 §2.3.4). */
const MAX_HOST = 255
const NO_PATTERNS: readonly string[] = []

export interface TreeRoute {
  readonly template: PathTemplate
  /** Hosts in lower case: `*`, a name, or `*.` and a name; at least one. */
  readonly hosts: readonly string[]
  /** Methods in upper case; empty for any method. */
  readonly methods: readonly string[]
}

/** Routes with the same path and host pattern. */
export interface Bucket<R> {
  /** Whether a result of {@link find} depends on more than path, host, method and namespace. */
  readonly isConditional: boolean
  readonly add: (route: R) => void
  readonly find: (request: RequestLine) => R | undefined
  /** Adds the methods of routes that only differ from the request by their method. */
  readonly collect: (request: RequestLine, methods: Set<string>) => void
}

/** Node in the tree of path templates. */
interface TreeNode<R> {
  literals: Map<string, TreeNode<R>> | undefined
  /** Child for any single segment. */
  single: TreeNode<R> | undefined
  /** Children for `**`, by the number of segments after it, most first. */
  multi: Tail<R>[] | undefined
  /** Routes that end here, for any host. */
  any: Bucket<R> | undefined
  /** Routes that end here, by host pattern. */
  slots: Map<string, Bucket<R>> | undefined
  /** Maximum number of nodes visited from this node on, including it. */
  cost: number
  /** Maximum cost among `literals`. */
  literalCost: number
}

interface Tail<R> {
  readonly length: number
  readonly node: TreeNode<R>
}

/**
 * Routes as a tree of path segments. A lookup visits at most {@link MAX_COST} nodes, regardless of the number of
 * routes. A route that would exceed this bound is rejected.
 *
 * The most specific matching route wins, in this order:
 *
 * 1. a template with a verb before one without a verb;
 * 2. segments from the left: literal, then `*` or `{name}`, then `**`; the end of a template before `**`.
 *    among several `**`, the one with more segments after it, then these segments;
 * 3. host: exact name, then `*.<name>` with the longest name, then `*`;
 * 4. method: exact, then GET for HEAD, then any (in the bucket);
 * 5. the choice of the {@link Bucket}.
 */
export class RouteTree<R extends TreeRoute> {
  /** Number of routes. */
  size = 0
  /** Whether any route depends on the method. */
  byMethod = false
  /** Whether any route depends on the host. */
  byHost = false
  /** Number of nodes visited by the last {@link find} call. */
  visited = 0
  readonly #root: TreeNode<R> = createNode<R>()
  /** Trees of templates that end with a verb. */
  readonly #verbs = new Map<string, TreeNode<R>>()
  readonly #hosts = new Set<string>()
  #slots = 0
  // Arguments of the current `find` call, stored in fields to avoid passing them through the recursion.
  #segments: readonly string[] = []
  #request: RequestLine | undefined = undefined
  #patterns: readonly string[] = NO_PATTERNS
  readonly #allowed = new Set<string>()
  /** Buckets passed by {@link list}; undefined: their routes are searched. */
  #listed: Bucket<R>[] | undefined = undefined
  readonly #createBucket: () => Bucket<R>

  constructor(createBucket: () => Bucket<R>) {
    this.#createBucket = createBucket
  }

  /** Adds a route. Returns false if this would exceed {@link MAX_COST} or {@link MAX_SLOTS}. */
  add(route: R): boolean {
    const { template, hosts, methods } = route
    const { segments, verb } = template
    const slots = hosts.length * Math.max(methods.length, 1)
    if (this.#slots + slots > MAX_SLOTS) return false
    const root = verb === '' ? this.#root : (this.#verbs.get(verb) ?? createNode<R>())
    if (costWith(root, segments, 0) > MAX_COST) return false
    if (verb !== '') this.#verbs.set(verb, root)
    const node = insert(root, segments, 0)
    for (const host of hosts) {
      this.#open(node, host).add(route)
      if (host !== '*') this.#hosts.add(host)
    }
    this.#slots += slots
    this.size++
    this.byMethod ||= methods.length > 0
    this.byHost ||= this.#hosts.size > 0
    return true
  }

  /**
   * Finds the route of a request. Returns the allowed methods in the format of `Allow` if only the method differs, and
   * undefined if nothing matches. Removes the verb from `path.segments` if a template with a verb matches.
   */
  find(request: RequestLine, path: RequestPath): R | string | undefined {
    const { segments, verb } = path
    this.visited = 0
    this.#segments = segments
    this.#request = request
    this.#patterns = this.byHost ? this.#listPatterns(request.host) : NO_PATTERNS
    if (this.#allowed.size > 0) this.#allowed.clear()
    const verbs = verb === '' ? undefined : this.#verbs.get(verb)
    if (verbs !== undefined) {
      const end = segments.length - 1
      const lastSegment = segments[end]!
      segments[end] = lastSegment.slice(0, -verb.length - 1)
      const found = segments[end] === '' ? undefined : this.#walk(verbs, 0)
      if (found !== undefined) return found
      segments[end] = lastSegment
    }
    const found = this.#walk(this.#root, 0)
    if (found !== undefined) return found
    return this.#allowed.size === 0 ? undefined : [...this.#allowed].sort().join(', ')
  }

  /** The buckets that {@link find} searches for a route until it has one, in this order. */
  list(request: RequestLine, path: RequestPath): readonly Bucket<R>[] {
    const listed: Bucket<R>[] = []
    this.#listed = listed
    this.find(request, path)
    this.#listed = undefined
    return listed
  }

  #open(node: TreeNode<R>, host: string): Bucket<R> {
    if (host === '*') {
      node.any ??= this.#createBucket()
      return node.any
    }
    node.slots ??= new Map()
    const slot = node.slots.get(host) ?? this.#createBucket()
    node.slots.set(host, slot)
    return slot
  }

  #walk(node: TreeNode<R>, at: number): R | undefined {
    this.visited++
    const { length } = this.#segments
    let found: R | undefined
    if (at === length) {
      found = this.#select(node)
    } else {
      const literal = node.literals?.get(this.#segments[at]!)
      if (literal !== undefined) found = this.#walk(literal, at + 1)
      if (found === undefined && node.single !== undefined) found = this.#walk(node.single, at + 1)
    }
    if (found !== undefined || node.multi === undefined) return found
    for (const tail of node.multi) {
      if (tail.length > length - at) continue
      found = this.#walk(tail.node, length - tail.length)
      if (found !== undefined) return found
    }
    return undefined
  }

  #select({ any, slots }: TreeNode<R>): R | undefined {
    if (slots !== undefined) {
      for (const pattern of this.#patterns) {
        const found = this.#findIn(slots.get(pattern))
        if (found !== undefined) return found
      }
    }
    return this.#findIn(any)
  }

  #findIn(slot: Bucket<R> | undefined): R | undefined {
    if (slot === undefined) return undefined
    if (this.#listed !== undefined) {
      this.#listed.push(slot)
      return undefined
    }
    const found = slot.find(this.#request!)
    if (found === undefined) slot.collect(this.#request!, this.#allowed)
    return found
  }

  /** Returns matching host patterns in use, most specific first, without `*`. */
  #listPatterns(received: string): readonly string[] {
    const host = toHostName(received)
    if (host.length > MAX_HOST) return NO_PATTERNS
    const patterns: string[] = []
    if (this.#hosts.has(host)) patterns.push(host)
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const pattern = `*${host.slice(dot)}`
      if (this.#hosts.has(pattern)) patterns.push(pattern)
    }
    return patterns
  }
}

function createNode<R>(): TreeNode<R> {
  return {
    literals: undefined,
    single: undefined,
    multi: undefined,
    any: undefined,
    slots: undefined,
    cost: 1,
    literalCost: 0,
  }
}

/** Returns the cost of `node` after adding these segments, starting at `at`, below it. */
function costWith<R>(
  node: TreeNode<R> | undefined,
  segments: readonly string[],
  at: number,
): number {
  if (at === segments.length) return node?.cost ?? 1
  const segment = segments[at]!
  const next = node && findNext(node, segments, at)
  const nextCost = costWith(next, segments, at + 1)
  const literalCost = node?.literalCost ?? 0
  const others = node === undefined ? 1 : nonLiteralCost(node)
  return segment === '*' || segment === '**'
    ? literalCost + others - (next?.cost ?? 0) + nextCost
    : Math.max(literalCost, nextCost) + others
}

/** Returns the cost of a node and its non-literal children. */
function nonLiteralCost<R>({ single, multi }: TreeNode<R>): number {
  let cost = 1 + (single?.cost ?? 0)
  if (multi !== undefined) for (const tail of multi) cost += tail.node.cost
  return cost
}

function findNext<R>(
  node: TreeNode<R>,
  segments: readonly string[],
  at: number,
): TreeNode<R> | undefined {
  const segment = segments[at]!
  if (segment === '*') return node.single
  if (segment !== '**') return node.literals?.get(segment)
  const length = segments.length - at - 1
  return node.multi?.find((tail) => tail.length === length)?.node
}

/** Creates the nodes of a template and returns the last one. */
function insert<R>(node: TreeNode<R>, segments: readonly string[], at: number): TreeNode<R> {
  if (at === segments.length) return node
  const segment = segments[at]!
  let next = findNext(node, segments, at)
  if (next === undefined) {
    next = createNode<R>()
    if (segment === '*') node.single = next
    else if (segment === '**') {
      node.multi ??= []
      node.multi.push({ length: segments.length - at - 1, node: next })
      node.multi.sort((a, b) => b.length - a.length)
    } else {
      node.literals ??= new Map()
      node.literals.set(segment, next)
    }
  }
  const last = insert(next, segments, at + 1)
  if (segment !== '*' && segment !== '**') node.literalCost = Math.max(node.literalCost, next.cost)
  node.cost = node.literalCost + nonLiteralCost(node)
  return last
}
