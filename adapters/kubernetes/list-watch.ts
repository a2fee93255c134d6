import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { explain, toRetryMs } from './failures.ts'
import { ApiError, readLines, readText, send } from './request.ts'
import { type Resource, toPath } from './resource.ts'

/** A changed object. */
export interface Change<T> {
  readonly name: string
  /** Undefined if the object was deleted. */
  readonly item: T | undefined
}

export interface ReflectOptions<T> {
  readonly findCluster: () => Promise<Cluster>
  readonly resource: Resource
  /** Label selector such as `app=a`. @default all objects */
  readonly selector?: string
  /** Whether to read only the metadata of objects (`PartialObjectMetadata`). @default false */
  readonly isMetadataOnly?: boolean
  /** Converts an API object to the stored item. */
  readonly toItem: (object: unknown) => T
  /** Called with all objects after the initial list, and whenever changes were missed. */
  readonly onList: (items: ReadonlyMap<string, T>) => void
  /** Called with changes, batched as received. */
  readonly onChanges: (changes: readonly Change<T>[]) => void
  /**
   * Called with the reason for each failed attempt. Called with undefined when the watch is first
   * established, and after a failure once all missed changes are reported.
   */
  readonly onOutage: (reason: Error | undefined) => void
  /** Objects per page; parsing a page blocks the event loop. @default 100 */
  readonly pageSize?: number
  /**
   * Requested duration of a watch in seconds. A watch without events for longer is considered
   * broken.
   *
   * @default 120
   */
  readonly watchSeconds?: number
  /**
   * Back-off before the first retry in milliseconds; doubles with each further retry.
   *
   * @default 250
   */
  readonly retryMs?: number
  /** Timeout of a page request and grace period of a watch in milliseconds. @default 15000 */
  readonly graceMs?: number
}

/**
 * Minimum duration of a successful watch. A server that rejects the resourceVersion reports it in
 * the first event.
 */
const STABLE_MS = 1000
const MAX_PAGE_BYTES = 256 * 1024 ** 2
/** etcd limits objects to 1.5 MiB. */
const MAX_EVENT_BYTES = 8 * 1024 ** 2
/**
 * Statuses that reject the resourceVersion of a watch: it is too old, or newer than the state of a
 * restored server.
 */
const TOO_OLD = 410
const INVALID_VERSION: ReadonlySet<number> = new Set([400, TOO_OLD, 504])

/**
 * Lists a collection and then watches it
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/). Returns a function that stops it.
 */
export function reflect<T>(options: ReflectOptions<T>): () => void {
  const { resource, selector, toItem, onOutage, pageSize = 100, watchSeconds = 120 } = options
  const { retryMs = 250, graceMs = 15_000, isMetadataOnly = false } = options
  const stop = new AbortController()
  let request = new AbortController()
  /** `resourceVersion` of the last reported state. If undefined, a list is required. */
  let resumeVersion: string | undefined
  /** Whether the server accepted the current watch. */
  let isAccepted = false
  let isFollowing = false
  /**
   * Consecutive expired lists and watches. The first is followed by an immediate list; further ones
   * count as failures.
   */
  let expiries = 0

  /** Requests the collection and reads the response, each within its own timeout. */
  async function fetchCollection<R>(
    query: Record<string, string>,
    timeoutMs: number,
    read: (response: IncomingMessage) => Promise<R>,
  ): Promise<R> {
    const cluster = await options.findCluster()
    if (selector !== undefined) query['labelSelector'] = selector
    const path = `${toPath(resource, cluster.namespace)}?${new URLSearchParams(query)}`
    stop.signal.throwIfAborted()
    request = new AbortController()
    let timeoutError: Error | undefined
    const timer = setTimeout(() => {
      timeoutError = new Error(`no response within ${timeoutMs} ms`)
      request.abort()
    }, timeoutMs)
    try {
      const kind = query['watch'] ? 'PartialObjectMetadata' : 'PartialObjectMetadataList'
      const accept = isMetadataOnly ? `application/json;as=${kind};g=meta.k8s.io;v=v1` : undefined
      return await read(await send(cluster, { path, ...(accept && { accept }) }, request.signal))
    } catch (error) {
      throw timeoutError ?? error
    } finally {
      clearTimeout(timer)
    }
  }

  async function list(): Promise<void> {
    const items = new Map<string, T>()
    let next = ''
    let version: string | undefined
    do {
      const query = { limit: `${pageSize}`, ...(next !== '' && { continue: next }) }
      const page = (await fetchCollection(query, graceMs, async (response) =>
        parse(await readText(response, MAX_PAGE_BYTES)),
      )) as Page
      for (const object of page.items ?? [])
        items.set(
          toName(object),
          toApiErrors(() => toItem(object)),
        )
      version = page.metadata?.resourceVersion
      next = page.metadata?.continue ?? ''
    } while (next !== '' && !stop.signal.aborted)
    if (!version) throw new ApiError('the list has no resourceVersion', { status: 200 })
    if (stop.signal.aborted) return
    toApiErrors(() => options.onList(items))
    resumeVersion = version
  }

  function follow(): void {
    if (isFollowing || stop.signal.aborted) return
    isFollowing = true
    onOutage(undefined)
  }

  function fail(failure: unknown): void {
    isFollowing = false
    onOutage(explain(failure, resource))
  }

  /**
   * @param isListed whether `from` comes from a current list; the server may have dropped changes
   * since an older version.
   */
  async function watch(from: string, isListed: boolean): Promise<void> {
    const seconds = Math.ceil(watchSeconds * (0.75 + Math.random() / 4))
    const query = {
      watch: '1',
      allowWatchBookmarks: '1',
      resourceVersion: from,
      timeoutSeconds: `${seconds}`,
    }
    await fetchCollection(query, seconds * 1000 + graceMs, async (response) => {
      isAccepted = true
      // For an expired version, the API server also returns 200 and ends the watch with its first
      // event.
      const timer = isListed ? undefined : setTimeout(follow, STABLE_MS)
      if (isListed) follow()
      try {
        for await (const lines of readLines(response, MAX_EVENT_BYTES)) {
          receiveEvents(lines)
          follow()
        }
      } finally {
        clearTimeout(timer)
      }
    })
  }

  function receiveEvents(lines: readonly string[]): void {
    const changes: Change<T>[] = []
    let end: ApiError | undefined
    for (const line of lines) {
      const { type, object } = parse(line) as WatchEvent
      if (type === 'ERROR') {
        end = new ApiError(object?.message ?? 'the server ended the watch', {
          status: object?.code ?? 500,
        })
        break
      }
      resumeVersion = object?.metadata?.resourceVersion ?? resumeVersion
      if (type === 'BOOKMARK') continue
      const item = type === 'DELETED' ? undefined : toApiErrors(() => toItem(object))
      changes.push({ name: toName(object), item })
    }
    if (stop.signal.aborted) return
    if (changes.length > 0) toApiErrors(() => options.onChanges(changes))
    if (end !== undefined) throw end
  }

  async function run(): Promise<void> {
    let failures = 0
    while (!stop.signal.aborted) {
      const beganMs = performance.now()
      const isListed = resumeVersion === undefined
      let failure: unknown
      isAccepted = false
      try {
        if (resumeVersion === undefined) await list()
        if (resumeVersion !== undefined) await watch(resumeVersion, isListed)
      } catch (error) {
        failure = error
      }
      if (stop.signal.aborted) return
      const status = failure instanceof ApiError ? failure.status : undefined
      const isInvalidVersion = status !== undefined && INVALID_VERSION.has(status)
      if (isInvalidVersion || (status !== undefined && isAccepted)) resumeVersion = undefined
      const isStable = isAccepted && performance.now() - beganMs >= STABLE_MS
      if (isStable) failures = expiries = 0
      if (status === TOO_OLD && expiries++ === 0) continue
      // A broken connection may be replaced immediately.
      if (failure !== undefined && !(isAccepted && status === undefined)) fail(failure)
      if (isInvalidVersion && !isListed && !isAccepted) continue
      if (isStable && failure === undefined) continue
      const pauseMs = toRetryMs(failure, failures++, retryMs)
      await delay(pauseMs, undefined, { signal: stop.signal }).catch(() => {})
    }
  }

  void run()
  return () => {
    stop.abort()
    request.abort()
  }
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
    // The error is reported below.
  }
  throw new ApiError(`the response is not a JSON object: ${JSON.stringify(text.slice(0, 100))}`, {
    status: 200,
  })
}

/** Converts an error thrown while using a response to an `ApiError`. */
function toApiErrors<R>(use: () => R): R {
  try {
    return use()
  } catch (cause) {
    throw new ApiError(`unusable response: ${(cause as Error).message}`, {
      status: 200,
      cause,
    })
  }
}

function toName(object: unknown): string {
  const name = (object as { metadata?: { name?: unknown } } | null)?.metadata?.name
  if (typeof name === 'string') return name
  throw new ApiError('the response contains an object without a name', { status: 200 })
}
