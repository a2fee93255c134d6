import { badGateway } from '../../errors.ts'
import type { StreamCall } from './stream-call.ts'

/**
 * A call with a stream of replies, of requests, or both; iterate over it to get the replies.
 *
 * ```ts
 * const chat = client.stream('chat', 'Chat.Talk')
 * await chat.send({ text: 'Hello' })
 * for await (const { text } of chat) console.log(text)
 * ```
 *
 * Nothing is read ahead beyond a window (docs/protocol.md §2.5): a loop that is slow, or none at all, slows the service
 * down. Leaving the loop gives the call up. An error of the service comes behind the replies it has sent before.
 */
export class CallStream<Q = unknown, R = unknown> implements AsyncIterableIterator<R> {
  readonly #call: StreamCall

  constructor(call: StreamCall) {
    this.#call = call
  }

  /**
   * Sends a request. Resolves once it was taken: wait for it, so that a slow service slows the sender down. False: the
   * call is over, and it went nowhere; why, the loop over the replies is told.
   *
   * @throws {TypeError} when JSON cannot say it, or it follows {@link end}.
   * @throws {RangeError} when it is longer than 16 MiB.
   */
  send(request: Q): Promise<boolean> {
    return this.#call.send(request)
  }

  /** The last request was sent. */
  end(): void {
    this.#call.end()
  }

  /** Gives the call up, and tells the service. */
  cancel(): void {
    this.#call.giveUp()
  }

  /**
   * Resolves once the service has begun to answer: it did what stands before its first reply, such as to subscribe.
   *
   * @throws {GatewayError} why it has not.
   */
  begun(): Promise<void> {
    return this.#call.begun()
  }

  /**
   * The only reply, of a call where the requests alone are a stream.
   *
   * @throws {GatewayError} 502 when there is none.
   */
  async reply(): Promise<R> {
    const { done, value } = await this.next()
    if (done) throw badGateway(this.#call.service, 'the stream has ended without a reply')
    await this.return()
    return value
  }

  /** The next reply. */
  next(): Promise<IteratorResult<R>> {
    return this.#call.replies.next() as Promise<IteratorResult<R>>
  }

  /** Leaves the stream: what a loop calls that is left early. Gives the call up. */
  return(): Promise<IteratorResult<R>> {
    this.#call.giveUp()
    return this.#call.replies.return() as Promise<IteratorResult<R>>
  }

  /** The stream itself: it can be iterated once. */
  [Symbol.asyncIterator](): this {
    return this
  }
}
