import type { Message } from '../../core/contracts/broker.ts'
import type { Maybe } from '../../lib/async/maybe.ts'

/** Buffers messages for a subscriber, which iterates over the feed. */
export interface MessageFeed extends AsyncIterableIterator<Message> {
  /**
   * Adds a message. The returned promise settles when there is space for another one
   * (backpressure).
   */
  readonly take: (message: Message) => Maybe<void>
  /** Ends the feed with an error. */
  readonly fail: (error: Error) => void
}

interface Reader {
  readonly resolve: (result: IteratorResult<Message>) => void
  readonly reject: (error: Error) => void
}

/**
 * Maximum number of buffered messages per event loop tick, so that each tick transfers many
 * messages.
 */
const MAX_BUFFERED = 256
/** Maximum size of the buffered bodies in bytes. A single message may be larger. */
const MAX_BUFFERED_BYTES = 1024 * 1024

/** @param onClose called once when the feed ends. */
export function createMessageFeed(onClose: () => void): MessageFeed {
  // Delivered entries are undefined.
  let buffered: (Message | undefined)[] = []
  let at = 0
  let bytes = 0
  let onRoom: (() => void) | undefined
  let reader: Reader | undefined
  let closed = false
  let failure: Error | undefined

  const hasRoom = (): boolean => buffered.length - at < MAX_BUFFERED && bytes < MAX_BUFFERED_BYTES

  const close = (error?: Error): void => {
    if (closed) return
    closed = true
    failure = error
    buffered = []
    onRoom?.()
    if (error === undefined) reader?.resolve({ done: true, value: undefined })
    else reader?.reject(error)
    reader = undefined
    onClose()
  }

  /** Returns undefined if the buffer is empty. */
  function shift(): Message | undefined {
    const message = buffered[at]
    if (message === undefined) return undefined
    buffered[at++] = undefined
    bytes -= message.body.length
    // A slow subscriber never drains the buffer completely.
    if (at === buffered.length || at === MAX_BUFFERED) {
      buffered = buffered.slice(at)
      at = 0
    }
    if (onRoom !== undefined && hasRoom()) {
      onRoom()
      onRoom = undefined
    }
    return message
  }

  return {
    take(message) {
      if (closed) return undefined
      if (reader !== undefined) {
        reader.resolve({ done: false, value: message })
        reader = undefined
        return undefined
      }
      buffered.push(message)
      bytes += message.body.length
      if (hasRoom()) return undefined
      return new Promise((resolve) => {
        onRoom = resolve
      })
    },

    fail: close,

    async next() {
      if (failure !== undefined) throw failure
      if (closed) return { done: true, value: undefined }
      const value = shift()
      if (value !== undefined) return { done: false, value }
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
