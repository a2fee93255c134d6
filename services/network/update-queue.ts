import { formatUpdate, type RouteUpdate } from '../../domain/mesh/messages.ts'

/** Source of updates. */
export interface UpdateSource {
  readonly isPending: () => boolean
  /** Returns updates of about this size in bytes; empty if nothing has changed. */
  readonly take: (maxBytes: number) => readonly RouteUpdate[]
}

/** Messages to a peer, over which its call iterates. */
export interface Outbox extends AsyncIterableIterator<object> {
  /** Sends a message before any updates. It replaces a pending message of the same type. */
  readonly send: <M extends { readonly type: string }>(message: M) => void
  /** Starts sending the updates from this source. */
  readonly begin: (source: UpdateSource) => void
  /** Called when updates may be available. */
  readonly wake: () => void
  /** Ends the stream, with an error if `reason` is set. */
  readonly end: (reason?: Error) => void
}

interface Reader {
  readonly resolve: (result: IteratorResult<object>) => void
  readonly reject: (error: Error) => void
}

/** Approximate size of an update message in bytes. */
const UPDATE_BYTES = 256 * 1024
/**
 * Interval during which updates are collected, because the updates caused by one change arrive
 * close together.
 */
const COLLECT_MS = 10

/** @param onClose called once when the iteration ends. */
export function createOutbox(onClose: () => void): Outbox {
  const pendingMessages = new Map<string, object>()
  let source: UpdateSource | undefined
  // Whether updates may be sent.
  let isDue = true
  let timer: NodeJS.Timeout | undefined
  let reader: Reader | undefined
  let failure: Error | undefined
  let closed = false

  function take(): object | undefined {
    for (const [type, message] of pendingMessages) {
      pendingMessages.delete(type)
      return message
    }
    if (!isDue || source === undefined) return undefined
    const routes = source.take(UPDATE_BYTES)
    if (source.isPending()) return toMessage(routes)
    isDue = false
    return routes.length === 0 ? undefined : toMessage(routes)
  }

  function deliver(): void {
    if (reader === undefined) return
    const message = take()
    if (message === undefined) return
    reader.resolve({ done: false, value: message })
    reader = undefined
  }

  function wake(): void {
    if (isDue || closed) return deliver()
    timer ??= setTimeout(() => {
      timer = undefined
      isDue = true
      deliver()
    }, COLLECT_MS)
  }

  const outbox: Outbox = {
    send(message) {
      if (closed) return
      pendingMessages.set(message.type, message)
      deliver()
    },

    begin(updates) {
      source = updates
      deliver()
    },

    wake,

    end(reason) {
      if (closed) return
      closed = true
      failure = reason
      clearTimeout(timer)
      pendingMessages.clear()
      if (reason === undefined) reader?.resolve({ done: true, value: undefined })
      else reader?.reject(reason)
      reader = undefined
      onClose()
    },

    async next() {
      if (failure !== undefined) throw failure
      if (closed) return { done: true, value: undefined }
      const message = take()
      if (message !== undefined) return { done: false, value: message }
      return new Promise((resolve, reject) => {
        reader = { resolve, reject }
      })
    },

    async return() {
      outbox.end()
      return { done: true, value: undefined }
    },

    [Symbol.asyncIterator]() {
      return outbox
    },
  }
  return outbox
}

function toMessage(routes: readonly RouteUpdate[]): object {
  return { type: 'routes', routes: routes.map(formatUpdate) }
}
