import type { Maybe } from '../../core/chain.ts'
import type { Message } from '../../core/contracts/broker.ts'

/** Messages on their way to one subscriber, as its call iterates over them. */
export interface MessageFeed extends AsyncIterableIterator<Message> {
  /** Hands a message over. What is returned settles when the subscriber has taken it: until then the next one waits where it is. */
  readonly take: (message: Message) => Maybe<void>
  /** Nothing more comes: the subscriber's stream ends. */
  readonly end: () => void
  /** Nothing more comes: the subscriber gets this error. */
  readonly fail: (error: Error) => void
}

interface Reader {
  readonly resolve: (result: IteratorResult<Message>) => void
  readonly reject: (error: Error) => void
}

interface Held {
  readonly message: Message
  readonly taken: () => void
}

/** @param onClose called once, when nobody takes messages any more. */
export function createMessageFeed(onClose: () => void): MessageFeed {
  let held: Held | undefined
  let reader: Reader | undefined
  let closed = false
  let failure: Error | undefined

  const close = (error?: Error): void => {
    if (closed) return
    closed = true
    failure = error
    held?.taken()
    held = undefined
    if (error === undefined) reader?.resolve({ done: true, value: undefined })
    else reader?.reject(error)
    reader = undefined
    onClose()
  }

  return {
    take(message) {
      if (closed) return undefined
      if (reader !== undefined) {
        reader.resolve({ done: false, value: message })
        reader = undefined
        return undefined
      }
      return new Promise((taken) => {
        held = { message, taken }
      })
    },

    end: () => close(),
    fail: close,

    async next() {
      if (failure !== undefined) throw failure
      if (closed) return { done: true, value: undefined }
      if (held !== undefined) {
        const { message, taken } = held
        held = undefined
        taken()
        return { done: false, value: message }
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
