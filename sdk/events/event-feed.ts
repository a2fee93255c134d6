import { unavailable } from '../errors.ts'

/** Stream of changes for a watcher, as an async iterator. */
export interface EventFeed<E> extends AsyncIterableIterator<E> {
  /** Adds the state of a key, replacing the buffered state. */
  readonly push: (key: string, event: E) => void
  /** Ends the feed. The watcher receives a 503 error with this detail. */
  readonly end: (detail: string) => void
  /** Ends the feed with an error. */
  readonly fail: (error: Error) => void
}

export interface EventFeedOptions {
  /** Error id. */
  readonly id: string
  /** Maximum number of buffered keys. Beyond that, the watcher receives a 503 error and has to restart. */
  readonly maxWaiting: number
  /** Called once, when the watcher has left. */
  readonly onClose: () => void
}

interface Reader<E> {
  readonly resolve: (result: IteratorResult<E>) => void
  readonly reject: (error: unknown) => void
}

/** Creates a feed. For a slow watcher, only the latest state of each key is buffered. */
export function createEventFeed<E>({ id, maxWaiting, onClose }: EventFeedOptions): EventFeed<E> {
  const waiting = new Map<string, E>()
  let reader: Reader<E> | undefined
  let closed = false
  let failure: Error | undefined

  const close = (error?: Error): void => {
    if (closed) return
    closed = true
    failure = error
    waiting.clear()
    if (error === undefined) reader?.resolve({ done: true, value: undefined })
    else reader?.reject(error)
    reader = undefined
    onClose()
  }

  return {
    push(key, event) {
      if (closed) return
      if (reader !== undefined) {
        reader.resolve({ done: false, value: event })
        reader = undefined
        return
      }
      waiting.set(key, event)
      if (waiting.size <= maxWaiting) return
      const detail = `the watcher is too slow: more than ${maxWaiting} changes are pending; watch again and re-read the list`
      close(unavailable(id, detail))
    },

    end: (detail) => close(unavailable(id, detail)),
    fail: close,

    async next() {
      if (failure !== undefined) throw failure
      if (closed) return { done: true, value: undefined }
      for (const [key, event] of waiting) {
        waiting.delete(key)
        return { done: false, value: event }
      }
      return new Promise((resolve, reject) => {
        reader = { resolve, reject }
      })
    },

    async return() {
      close()
      return { done: true, value: undefined }
    },

    [Symbol.asyncIterator]() {
      return this
    },
  }
}
