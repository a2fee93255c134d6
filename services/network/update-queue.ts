import { formatUpdate, type RouteUpdate } from '../../domain/mesh/messages.ts'

/** Where the news come from. */
export interface UpdateSource {
  readonly isPending: () => boolean
  /** Some, of about so many bytes; empty: there are none. */
  readonly take: (maxBytes: number) => readonly RouteUpdate[]
}

/** What is said to a peer, as its call iterates over it. */
export interface Outbox extends AsyncIterableIterator<object> {
  /** Says something before any news; in place of what was to be said of its type. */
  readonly say: <M extends { readonly type: string }>(message: M) => void
  /** Tells the news of this source from now on. */
  readonly begin: (source: UpdateSource) => void
  /** There may be news. */
  readonly wake: () => void
  /** Nothing more is said: the peer gets this error, or the end of the stream. */
  readonly end: (reason?: Error) => void
}

interface Reader {
  readonly resolve: (result: IteratorResult<object>) => void
  readonly reject: (error: Error) => void
}

/** Bytes of a message of news, about. */
const NEWS_BYTES = 256 * 1024
/** How long news are collected: those that follow from one change come close together. */
const COLLECT_MS = 10

/** @param onClose called once, when nobody takes anything any more. */
export function createOutbox(onClose: () => void): Outbox {
  const sayings = new Map<string, object>()
  let source: UpdateSource | undefined
  /** News may be taken now. */
  let isDue = true
  let timer: NodeJS.Timeout | undefined
  let reader: Reader | undefined
  let failure: Error | undefined
  let closed = false

  function take(): object | undefined {
    for (const [type, message] of sayings) {
      sayings.delete(type)
      return message
    }
    if (!isDue || source === undefined) return undefined
    const routes = source.take(NEWS_BYTES)
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
    say(message) {
      if (closed) return
      sayings.set(message.type, message)
      deliver()
    },

    begin(news) {
      source = news
      deliver()
    },

    wake,

    end(reason) {
      if (closed) return
      closed = true
      failure = reason
      clearTimeout(timer)
      sayings.clear()
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
