import { toHostName } from '../../core/http/host-name.ts'
import type { EndpointRoute } from './declared.ts'
import type { RequestPath } from './request-path.ts'
import { Slot } from './route-bucket.ts'

/** Most places in the tree one request may lead to. What real paths make is some ten. */
const MAX_COST = 1000
/** Most combinations of path, host and method. */
const MAX_SLOTS = 500_000
/** Longest host looked at, characters (RFC 1035 §2.3.4). */
const MAX_HOST = 255
const NO_PATTERNS: readonly string[] = []

/** A place in the tree of templates: what the segments so far lead to. */
interface TreeNode {
  literals: Map<string, TreeNode> | undefined
  /** After any one segment. */
  single: TreeNode | undefined
  /** After any number of segments, by how many follow them, most first. */
  multi: Tail[] | undefined
  /** Ends here, for any host. */
  any: Slot | undefined
  /** The same by host pattern, for others. */
  slots: Map<string, Slot> | undefined
  /** Most nodes visited from here on, this one included, whatever the path is. */
  cost: number
  /** The greatest cost among `literals`. */
  literalCost: number
}

interface Tail {
  readonly length: number
  readonly node: TreeNode
}

/**
 * Declared routes as one tree of path segments. Finding visits at most {@link MAX_COST} nodes, however many
 * routes there are: a route that would make it more is not taken in.
 *
 * Of several routes that match, the most specific one is found. What decides, in this order:
 *
 * 1. a template with a verb before one without;
 * 2. the segments, from the left: literal, then `*` or `{name}`, then `**`; and the end of a template before `**`.
 *    Of several `**` the one with more segments behind it, then those segments;
 * 3. the host: its name, then `*.<name>` with the longest name, then `*`;
 * 4. the method: by name, then GET for HEAD, then any;
 * 5. what was added first.
 */
export class EndpointMatcher {
  /** Routes taken in. */
  size = 0
  /** Whether methods make a difference. */
  byMethod = false
  /** Whether hosts make a difference. */
  byHost = false
  /** Nodes the last {@link find} visited. */
  visited = 0
  readonly #root: TreeNode = createNode()
  /** Trees of the templates that end in a verb. */
  readonly #verbs = new Map<string, TreeNode>()
  readonly #hosts = new Set<string>()
  #slots = 0
  // What the running `find` looks for.
  #segments: readonly string[] = []
  #method = ''
  #patterns: readonly string[] = NO_PATTERNS
  #namespace = ''
  readonly #allowed = new Set<string>()

  /** Takes a route in; false when it cannot: it would make matching slow, or there are too many. */
  add(route: EndpointRoute): boolean {
    const { template, hosts, methods } = route
    const { segments, verb } = template
    const slots = hosts.length * Math.max(methods.length, 1)
    if (this.#slots + slots > MAX_SLOTS) return false
    const root = verb === '' ? this.#root : (this.#verbs.get(verb) ?? createNode())
    if (costWith(root, segments, 0) > MAX_COST) return false
    if (verb !== '') this.#verbs.set(verb, root)
    const node = insert(root, segments, 0)
    for (const host of hosts) {
      openSlot(node, host).add(route)
      if (host !== '*') this.#hosts.add(host)
    }
    this.#slots += slots
    this.size++
    this.byMethod ||= methods.length > 0
    this.byHost ||= this.#hosts.size > 0
    return true
  }

  /**
   * The route of a request; where only its method is wrong, the methods that are not, as `Allow` lists them;
   * else undefined. Takes the verb off `path.segments` when a template with a verb was found.
   *
   * @param host as received.
   */
  find(
    method: string,
    host: string,
    path: RequestPath,
    namespace: string,
  ): EndpointRoute | string | undefined {
    const { segments, verb } = path
    this.visited = 0
    this.#segments = segments
    this.#method = method
    this.#patterns = this.byHost ? this.#listPatterns(host) : NO_PATTERNS
    this.#namespace = namespace
    if (this.#allowed.size > 0) this.#allowed.clear()
    const verbs = verb === '' ? undefined : this.#verbs.get(verb)
    if (verbs !== undefined) {
      const end = segments.length - 1
      const whole = segments[end]!
      segments[end] = whole.slice(0, -verb.length - 1)
      const found = segments[end] === '' ? undefined : this.#walk(verbs, 0)
      if (found !== undefined) return found
      segments[end] = whole
    }
    const found = this.#walk(this.#root, 0)
    if (found !== undefined) return found
    return this.#allowed.size === 0 ? undefined : [...this.#allowed].sort().join(', ')
  }

  #walk(node: TreeNode, at: number): EndpointRoute | undefined {
    this.visited++
    const { length } = this.#segments
    let found: EndpointRoute | undefined
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

  #select({ any, slots }: TreeNode): EndpointRoute | undefined {
    if (slots !== undefined) {
      for (const pattern of this.#patterns) {
        const found = this.#ask(slots.get(pattern))
        if (found !== undefined) return found
      }
    }
    return this.#ask(any)
  }

  #ask(slot: Slot | undefined): EndpointRoute | undefined {
    const found = slot?.find(this.#method, this.#namespace)
    if (found === undefined) slot?.collect(this.#namespace, this.#allowed)
    return found
  }

  /** The host patterns in use that fit, most specific first, without the one for any. */
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

function createNode(): TreeNode {
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

function openSlot(node: TreeNode, host: string): Slot {
  if (host === '*') {
    node.any ??= new Slot()
    return node.any
  }
  node.slots ??= new Map()
  const slot = node.slots.get(host) ?? new Slot()
  node.slots.set(host, slot)
  return slot
}

/** What the cost of `node` would be with these segments, from `at` on, below it. */
function costWith(node: TreeNode | undefined, segments: readonly string[], at: number): number {
  if (at === segments.length) return node?.cost ?? 1
  const segment = segments[at]!
  const next = node && findNext(node, segments, at)
  const nextCost = costWith(next, segments, at + 1)
  const literalCost = node?.literalCost ?? 0
  const others = node === undefined ? 1 : costOfOthers(node)
  return segment === '*' || segment === '**'
    ? literalCost + others - (next?.cost ?? 0) + nextCost
    : Math.max(literalCost, nextCost) + others
}

/** Of a node itself and what follows it but the literals. */
function costOfOthers({ single, multi }: TreeNode): number {
  let cost = 1 + (single?.cost ?? 0)
  if (multi !== undefined) for (const tail of multi) cost += tail.node.cost
  return cost
}

function findNext(node: TreeNode, segments: readonly string[], at: number): TreeNode | undefined {
  const segment = segments[at]!
  if (segment === '*') return node.single
  if (segment !== '**') return node.literals?.get(segment)
  const length = segments.length - at - 1
  return node.multi?.find((tail) => tail.length === length)?.node
}

/** Makes the nodes these segments lead along, and returns the last. */
function insert(node: TreeNode, segments: readonly string[], at: number): TreeNode {
  if (at === segments.length) return node
  const segment = segments[at]!
  let next = findNext(node, segments, at)
  if (next === undefined) {
    next = createNode()
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
  node.cost = node.literalCost + costOfOthers(node)
  return last
}
