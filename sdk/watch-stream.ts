import type { CallStream } from './call-stream.ts'
import { unavailable } from './errors.ts'

/**
 * What a watch tells, until the program leaves it: an end that the program did not ask for is an error, 503, also where a
 * service that is being stopped lets it end in order.
 *
 * @param toEvent what the program is told of a message.
 */
export function toWatchStream<W, E>(
  stream: CallStream<unknown, W>,
  service: string,
  toEvent: (message: W) => E,
): AsyncIterableIterator<E> {
  let isOver = false
  return {
    async next() {
      const { done, value } = await stream.next()
      if (done !== true) return { done: false, value: toEvent(value) }
      if (isOver) return { done, value: undefined }
      isOver = true
      throw unavailable(service, 'the service ended the watch: watch again, and read what is there')
    },

    async return() {
      isOver = true
      await stream.return()
      return { done: true, value: undefined }
    },

    [Symbol.asyncIterator]() {
      return this
    },
  }
}
