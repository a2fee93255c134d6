import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { ApiError, get, readLines, readText } from './request.ts'

/** A collection of the API. */
export interface Resource {
  /** As roles name it: `endpointslices`. */
  readonly name: string
  /** API group, empty for the core one. */
  readonly group: string
}

/** An object of the collection, as far as it is of interest. */
export interface Change<T> {
  /** Its name in the namespace. */
  readonly name: string
  /** Undefined: it is gone. */
  readonly item: T | undefined
}

export interface ReflectOptions<T> {
  readonly findCluster: () => Promise<Cluster>
  readonly resource: Resource
  /** What is kept of an object. */
  readonly toItem: (object: unknown) => T
  /** Told of everything there is: at first, and whenever changes were missed. */
  readonly onList: (items: ReadonlyMap<string, T>) => void
  /** Told of changes, those that came together at a time. */
  readonly onChanges: (changes: readonly Change<T>[]) => void
  /** Told after each attempt: the reason why it failed, or undefined once the watch stands. */
  readonly onOutage: (reason: Error | undefined) => void
  /** Objects of one answer: the time to parse it holds up everything else. @default 100 */
  readonly pageSize?: number
  /** Seconds until the server is asked to end a watch; one that is silent for longer is broken. @default 120 */
  readonly watchSeconds?: number
  /** Milliseconds before the first retry; each more doubles it. @default 250 */
  readonly retryMs?: number
}

const MAX_RETRY_MS = 30_000
/** A watch that lasted as long was no failure. */
const STEADY_MS = 1000
/** Milliseconds more than asked for that a watch may last, and those a page may take. */
const GRACE_MS = 15_000
const MAX_PAGE_BYTES = 256 * 1024 ** 2
/** etcd holds objects of 1.5 MiB at most. */
const MAX_EVENT_BYTES = 8 * 1024 ** 2
/** Answers that refuse the place a watch is to begin at: too old, or later than anything this server knows. */
const WRONG_PLACE: ReadonlySet<number> = new Set([400, 410, 504])

/**
 * Lists a collection and watches it from there on (https://kubernetes.io/docs/reference/using-api/api-concepts/), until the
 * function that is returned is called.
 */
export function reflect<T>(options: ReflectOptions<T>): () => void {
  const { resource, toItem, onOutage, pageSize = 100, watchSeconds = 120, retryMs = 250 } = options
  const stop = new AbortController()
  /** The `resourceVersion` up to which everything was told; undefined: it must be listed. */
  let place: string | undefined
  let standing = false

  const open = async (query: Record<string, string | number>, timeoutMs: number) => {
    const cluster = await options.findCluster()
    const root = resource.group === '' ? '/api/v1' : `/apis/${resource.group}/v1`
    const path = `${root}/namespaces/${cluster.namespace}/${resource.name}`
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(timeoutMs)])
    return get(cluster, `${path}?${new URLSearchParams(query as Record<string, string>)}`, signal)
  }

  async function list(): Promise<void> {
    const items = new Map<string, T>()
    let next = ''
    let version: string | undefined
    do {
      const query = { limit: pageSize, ...(next !== '' && { continue: next }) }
      const text = await readText(await open(query, GRACE_MS), MAX_PAGE_BYTES)
      const page = parse(text) as Page
      for (const object of page.items ?? []) items.set(toName(object), toItem(object))
      version = page.metadata?.resourceVersion
      next = page.metadata?.continue ?? ''
    } while (next !== '')
    if (!version) throw new ApiError('the list has no resourceVersion', 200)
    if (stop.signal.aborted) return
    place = version
    options.onList(items)
  }

  async function watch(): Promise<void> {
    const seconds = Math.ceil(watchSeconds * (0.75 + Math.random() / 4))
    const query = {
      watch: 1,
      allowWatchBookmarks: 1,
      resourceVersion: place!,
      timeoutSeconds: seconds,
    }
    const response = await open(query, seconds * 1000 + GRACE_MS)
    standing = true
    onOutage(undefined)
    for await (const lines of readLines(response, MAX_EVENT_BYTES)) {
      const changes: Change<T>[] = []
      let end: ApiError | undefined
      for (const line of lines) {
        const { type, object } = parse(line) as WatchEvent
        if (type === 'ERROR') {
          end = new ApiError(object?.message ?? 'the watch was ended', object?.code ?? 500)
          break
        }
        place = object?.metadata?.resourceVersion ?? place
        if (type === 'BOOKMARK') continue
        changes.push({
          name: toName(object),
          item: type === 'DELETED' ? undefined : toItem(object),
        })
      }
      if (stop.signal.aborted) return
      if (changes.length > 0) options.onChanges(changes)
      if (end !== undefined) throw end
    }
  }

  /** Milliseconds to wait before the next attempt. */
  function judge(error: unknown, failures: number): number {
    if (error instanceof ApiError && (WRONG_PLACE.has(error.status) || standing)) place = undefined
    // A connection that broke is no outage yet: the next attempt may succeed.
    const isExpected = error instanceof ApiError && error.status === 410
    if (!isExpected && (!standing || error instanceof ApiError)) onOutage(explain(error, resource))
    const backOffMs = Math.min(MAX_RETRY_MS, retryMs * 2 ** Math.min(failures, 20))
    // Jittered: gateways that lost the same server are not to come back together.
    const jitteredMs = backOffMs * (0.5 + Math.random() / 2)
    return Math.max(jitteredMs, error instanceof ApiError ? error.retryAfterMs : 0)
  }

  async function run(): Promise<void> {
    let failures = 0
    while (!stop.signal.aborted) {
      const beganMs = performance.now()
      let failure: unknown
      standing = false
      try {
        if (place === undefined) await list()
        if (!stop.signal.aborted) await watch()
      } catch (error) {
        failure = error
      }
      if (stop.signal.aborted) return
      const isSteady = standing && performance.now() - beganMs >= STEADY_MS
      if (isSteady) failures = 0
      const pauseMs = failure === undefined ? 0 : judge(failure, failures)
      if (isSteady && failure === undefined) continue
      await delay(pauseMs || retryMs, undefined, { signal: stop.signal }).catch(() => {})
      failures++
    }
  }

  void run()
  return () => stop.abort()
}

interface Page {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
  readonly items?: readonly unknown[]
}

interface WatchEvent {
  readonly type?: string
  readonly object?: {
    readonly metadata?: { readonly resourceVersion?: string }
    readonly message?: string
    readonly code?: number
  }
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Told below.
  }
  throw new ApiError(`the answer is no JSON object: ${JSON.stringify(text.slice(0, 100))}`, 200)
}

function toName(object: unknown): string {
  const name = (object as { metadata?: { name?: unknown } } | null)?.metadata?.name
  if (typeof name === 'string') return name
  throw new ApiError('the answer holds an object without a name', 200)
}

function explain(error: unknown, { name, group }: Resource): Error {
  const cause = error instanceof Error ? error : new Error(String(error))
  const what = `cannot watch Kubernetes ${name}`
  const status = error instanceof ApiError ? error.status : 0
  if (status === 401)
    return new Error(`${what}: the credentials are refused (${cause.message})`, { cause })
  if (status === 403) {
    const full =
      group === '' ? `${name} of the core API group ""` : `${name} of the API group ${group}`
    return new Error(
      `${what}: access is denied; grant the verbs get, list and watch on ${full} by a Role and a RoleBinding (${cause.message})`,
      { cause },
    )
  }
  return new Error(`${what}: ${cause.message}`, { cause })
}
