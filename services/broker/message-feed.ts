import type { Message } from '../../core/contracts/broker.ts'
import type { Maybe } from '../../lib/async/maybe.ts'

/** Messages on their way to one subscriber, as its call iterates over them. */
export interface MessageFeed extends AsyncIterableIterator<Message> {
  /** Hands a message over. What is returned settles when there is room for the next: until then that waits where it is. */
  readonly take: (message: Message) => Maybe<void>
  /** Nothing more comes: the subscriber gets this error. */
  readonly fail: (error: Error) => void
}

interface Reader {
  readonly resolve: (result: IteratorResult<Message>) => void
  readonly reject: (error: Error) => void
}

/** Messages held between two turns of the event loop, so that each turn carries many. */
const MAX_HELD = 256
/** Bytes of their bodies; one message may be longer. */
const MAX_HELD_BYTES = 1024 * 1024

/** @param onClose called once, when nobody takes messages any more. */
export function createMessageFeed(onClose: () => void): MessageFeed {
  /** Those that were taken are undefined. */
  let held: (Message | undefined)[] = []
  let at = 0
  let bytes = 0
  let onRoom: (() => void) | undefined
  let reader: Reader | undefined
  let closed = false
  let failure: Error | undefined

  const hasRoom = (): boolean => held.length - at < MAX_HELD && bytes < MAX_HELD_BYTES

  const close = (error?: Error): void => {
    if (closed) return
    closed = true
    failure = error
    held = []
    onRoom?.()
    if (error === undefined) reader?.resolve({ done: true, value: undefined })
    else reader?.reject(error)
    reader = undefined
    onClose()
  }

  /** Undefined: none is held. */
  function shift(): Message | undefined {
    const message = held[at]
    if (message === undefined) return undefined
    held[at++] = undefined
    bytes -= message.body.length
    // A slow subscriber never has taken all of them.
    if (at === held.length || at === MAX_HELD) {
      held = held.slice(at)
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
      held.push(message)
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
