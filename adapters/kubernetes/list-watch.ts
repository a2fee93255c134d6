import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { explain, toRetryMs } from './failures.ts'
import { ApiError, readLines, readText, send } from './request.ts'
import { type Resource, toPath } from './resource.ts'

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
  /** Labels of the objects that are meant: `app=a`. @default all */
  readonly selector?: string
  /** Whether objects are read without anything but their metadata: `PartialObjectMetadata`. @default false */
  readonly isMetadataOnly?: boolean
  /** What is kept of an object. */
  readonly toItem: (object: unknown) => T
  /** Told of everything there is: at first, and whenever changes were missed. */
  readonly onList: (items: ReadonlyMap<string, T>) => void
  /** Told of changes, those that came together at a time. */
  readonly onChanges: (changes: readonly Change<T>[]) => void
  /**
   * Called with the reason of each failed attempt, and with undefined when the collection is followed: first, and after a failure once
   * nothing is missing any more.
   */
  readonly onOutage: (reason: Error | undefined) => void
  /** Objects of one answer: the time to parse it holds up everything else. @default 100 */
  readonly pageSize?: number
  /** Seconds until the server is asked to end a watch; one that is silent for longer is broken. @default 120 */
  readonly watchSeconds?: number
  /** Milliseconds before the first retry; each more doubles it. @default 250 */
  readonly retryMs?: number
  /** Milliseconds a page may take, and a watch may last longer than it was asked to. @default 15000 */
  readonly graceMs?: number
}

/** A watch that lasted as long was no failure. A server that rejects its place does so with the first event. */
const STEADY_MS = 1000
const MAX_PAGE_BYTES = 256 * 1024 ** 2
/** etcd holds objects of 1.5 MiB at most. */
const MAX_EVENT_BYTES = 8 * 1024 ** 2
/** Answers that refuse the place a watch is to begin at: too old; or later than anything this server knows, which was restored. */
const TOO_OLD = 410
const WRONG_PLACE: ReadonlySet<number> = new Set([400, TOO_OLD, 504])

/**
 * Lists a collection and watches it from there on (https://kubernetes.io/docs/reference/using-api/api-concepts/), until the
 * function that is returned is called.
 */
export function reflect<T>(options: ReflectOptions<T>): () => void {
  const { resource, selector, toItem, onOutage, pageSize = 100, watchSeconds = 120 } = options
  const { retryMs = 250, graceMs = 15_000, isMetadataOnly = false } = options
  const stop = new AbortController()
  let request = new AbortController()
  /** The `resourceVersion` up to which everything was told; undefined: it must be listed. */
  let place: string | undefined
  /** Whether the server accepted the watch of this turn. */
  let standing = false
  let isFollowing = false
  /** Expired lists and watches in a row: the first is mended by a list at once, more of them are failures. */
  let expiries = 0

  /** Asks for the collection and lets `read` take the answer, all within a time. */
  async function ask<R>(
    query: Record<string, string>,
    timeoutMs: number,
    read: (response: IncomingMessage) => Promise<R>,
  ): Promise<R> {
    const cluster = await options.findCluster()
    if (selector !== undefined) query['labelSelector'] = selector
    const path = `${toPath(resource, cluster.namespace)}?${new URLSearchParams(query)}`
    stop.signal.throwIfAborted()
    request = new AbortController()
    let late: Error | undefined
    const timer = setTimeout(() => {
      late = new Error(`no answer within ${timeoutMs} ms`)
      request.abort()
    }, timeoutMs)
    try {
      const kind = query['watch'] ? 'PartialObjectMetadata' : 'PartialObjectMetadataList'
      const accept = isMetadataOnly ? `application/json;as=${kind};g=meta.k8s.io;v=v1` : undefined
      return await read(await send(cluster, { path, ...(accept && { accept }) }, request.signal))
    } catch (error) {
      throw late ?? error
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
      const page = (await ask(query, graceMs, async (response) =>
        parse(await readText(response, MAX_PAGE_BYTES)),
      )) as Page
      for (const object of page.items ?? [])
        items.set(
          toName(object),
          inWords(() => toItem(object)),
        )
      version = page.metadata?.resourceVersion
      next = page.metadata?.continue ?? ''
    } while (next !== '' && !stop.signal.aborted)
    if (!version) throw new ApiError('the list has no resourceVersion', { status: 200 })
    if (stop.signal.aborted) return
    inWords(() => options.onList(items))
    place = version
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

  /** @param isListed whether `from` is of a list just read: changes since another place may have been dropped by the server. */
  async function watch(from: string, isListed: boolean): Promise<void> {
    const seconds = Math.ceil(watchSeconds * (0.75 + Math.random() / 4))
    const query = {
      watch: '1',
      allowWatchBookmarks: '1',
      resourceVersion: from,
      timeoutSeconds: `${seconds}`,
    }
    await ask(query, seconds * 1000 + graceMs, async (response) => {
      standing = true
      // The API server answers 200 to a place that is too old, too, and ends the watch by its first event.
      const timer = isListed ? undefined : setTimeout(follow, STEADY_MS)
      if (isListed) follow()
      try {
        for await (const lines of readLines(response, MAX_EVENT_BYTES)) {
          hear(lines)
          follow()
        }
      } finally {
        clearTimeout(timer)
      }
    })
  }

  function hear(lines: readonly string[]): void {
    const changes: Change<T>[] = []
    let end: ApiError | undefined
    for (const line of lines) {
      const { type, object } = parse(line) as WatchEvent
      if (type === 'ERROR') {
        end = new ApiError(object?.message ?? 'the watch was ended', {
          status: object?.code ?? 500,
        })
        break
      }
      place = object?.metadata?.resourceVersion ?? place
      if (type === 'BOOKMARK') continue
      const item = type === 'DELETED' ? undefined : inWords(() => toItem(object))
      changes.push({ name: toName(object), item })
    }
    if (stop.signal.aborted) return
    if (changes.length > 0) inWords(() => options.onChanges(changes))
    if (end !== undefined) throw end
  }

  async function run(): Promise<void> {
    let failures = 0
    while (!stop.signal.aborted) {
      const beganMs = performance.now()
      const isListed = place === undefined
      let failure: unknown
      standing = false
      try {
        if (place === undefined) await list()
        if (place !== undefined) await watch(place, isListed)
      } catch (error) {
        failure = error
      }
      if (stop.signal.aborted) return
      const status = failure instanceof ApiError ? failure.status : undefined
      const isMisplaced = status !== undefined && WRONG_PLACE.has(status)
      if (isMisplaced || (status !== undefined && standing)) place = undefined
      const isSteady = standing && performance.now() - beganMs >= STEADY_MS
      if (isSteady) failures = expiries = 0
      if (status === TOO_OLD && expiries++ === 0) continue
      // A connection that broke may be there again.
      if (failure !== undefined && !(standing && status === undefined)) fail(failure)
      if (isMisplaced && !isListed && !standing) continue
      if (isSteady && failure === undefined) continue
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
    // Told below.
  }
  throw new ApiError(`the answer is no JSON object: ${JSON.stringify(text.slice(0, 100))}`, {
    status: 200,
  })
}

/** What cannot be done with an answer is the fault of the answer. */
function inWords<R>(use: () => R): R {
  try {
    return use()
  } catch (cause) {
    throw new ApiError(`the answer cannot be used: ${(cause as Error).message}`, {
      status: 200,
      cause,
    })
  }
}

function toName(object: unknown): string {
  const name = (object as { metadata?: { name?: unknown } } | null)?.metadata?.name
  if (typeof name === 'string') return name
  throw new ApiError('the answer holds an object without a name', { status: 200 })
}
