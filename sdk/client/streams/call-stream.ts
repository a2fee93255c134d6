import { badGateway } from '../../errors.ts'
import type { StreamCall } from './stream-call.ts'

/**
 * A streaming call; iterate over it to read the responses.
 *
 * ```ts
 * const chat = client.stream('chat', 'Chat.Talk')
 * await chat.send({ text: 'Hello' })
 * for await (const { text } of chat) console.log(text)
 * ```
 *
 * Flow control (docs/protocol.md §2.5) bounds buffering: a slow reader slows down the service. Leaving the loop cancels
 * the call. An error from the service is thrown after the responses sent before it.
 */
export class CallStream<Q = unknown, R = unknown> implements AsyncIterableIterator<R> {
  readonly #call: StreamCall

  constructor(call: StreamCall) {
    this.#call = call
  }

  /**
   * Sends a request. Resolves when the request is accepted; await it for backpressure.
   *
   * @returns false if the call has ended and the request was discarded; the loop over the responses throws the reason.
   * @throws {TypeError} if JSON cannot represent the request, or after {@link end}.
   * @throws {RangeError} if the request is longer than 16 MiB.
   */
  send(request: Q): Promise<boolean> {
    return this.#call.send(request)
  }

  /** Ends the stream of requests. */
  end(): void {
    this.#call.end()
  }

  /** Cancels the call and notifies the service. */
  cancel(): void {
    this.#call.abandon()
  }

  /**
   * Resolves when the service has started its response, for example after subscribing.
   *
   * @throws {GatewayError} if the call fails before that.
   */
  begun(): Promise<void> {
    return this.#call.begun()
  }

  /**
   * The single response to streamed requests.
   *
   * @throws {GatewayError} 502 if the stream ends without a response.
   */
  async reply(): Promise<R> {
    const { done, value } = await this.next()
    if (done) throw badGateway(this.#call.service, 'the stream has ended without a reply')
    await this.return()
    return value
  }

  next(): Promise<IteratorResult<R>> {
    return this.#call.replies.next() as Promise<IteratorResult<R>>
  }

  /** Cancels the call. Runs when a loop is left early. */
  return(): Promise<IteratorResult<R>> {
    this.#call.abandon()
    return this.#call.replies.return() as Promise<IteratorResult<R>>
  }

  /** Returns the stream itself, which can be iterated once. */
  [Symbol.asyncIterator](): this {
    return this
  }
}
