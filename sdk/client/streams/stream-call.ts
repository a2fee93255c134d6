import { GatewayError } from '../../../core/errors.ts'
import { json } from '../../codec/codec.ts'
import { parseReply } from '../../codec/reply-body.ts'
import { rejectTyped } from '../../errors.ts'
import { RoutedCall } from '../balanced-call.ts'
import type { CallPlan, CallRouter } from '../call-options.ts'
import { toLocalValue } from '../in-process.ts'
import { BodyStream } from './body-stream.ts'

export type Requests<Q = unknown> = Iterable<Q> | AsyncIterable<Q>

/** A request waiting for credit. */
interface Waiting {
  readonly body: string
  readonly resolve: (isAccepted: boolean) => void
  readonly reject: (error: unknown) => void
}

/** A caller waiting for the start of the response. */
interface Starting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

const TAKEN = Promise.resolve(true)

/** A streaming call, exposed as a `CallStream`. Never retried, since requests are not stored. */
export class StreamCall extends RoutedCall {
  readonly replies: BodyStream
  readonly #requests: unknown
  readonly #asText: boolean
  #waiting: Waiting[] = []
  #isEnded = false
  #feed: Iterator<unknown> | AsyncIterator<unknown> | undefined = undefined
  #hasBegun = false
  /** Reason why the response will not start. */
  #failure: { readonly error: unknown } | undefined = undefined
  #starting: Starting[] = []

  /**
   * @param requests a single request; an iterable of requests, but not a string; or undefined to send requests through
   * {@link send}.
   */
  constructor(owner: CallRouter, plan: CallPlan, requests: unknown) {
    super(owner, { ...plan, retries: 0 }, owner.closing)
    this.stream = true
    this.#requests = requests
    this.#asText = plan.asText
    this.replies = new BodyStream({
      decode: (body) => this.#decode(body),
      onConsumed: (bytes) => this.consumed(bytes),
      reject: (error) =>
        error instanceof GatewayError ? rejectTyped(error) : Promise.reject(error),
    })
  }

  send(request: unknown): Promise<boolean> {
    if (this.#isEnded) return Promise.reject(new TypeError('the last request has been sent'))
    // Resolved in a later tick, so that a loop that sends continuously does not block the event loop.
    if (this.isSettled) return new Promise((resolve) => setImmediate(resolve, false))
    try {
      const body = this.#encode(request)
      if (this.#waiting.length === 0 && this.carrier !== undefined && this.sendData(body))
        return TAKEN
      return new Promise((resolve, reject) => {
        this.#waiting.push({ body, resolve, reject })
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  end(): void {
    this.#isEnded = true
    if (this.#waiting.length === 0) this.endData()
  }

  /** Settles when the response has started or failed. */
  begun(): Promise<void> {
    if (this.#hasBegun) return Promise.resolve()
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) reject(this.#failure.error)
      else this.#starting.push({ resolve, reject })
    })
  }

  /** Cancels the call. */
  abandon(): void {
    if (!this.drop()) return
    this.#stop()
    this.#miss(new DOMException('the call was cancelled', 'AbortError'))
    this.replies.end()
  }

  protected prepare(): void {
    const requests = this.#requests
    const iterator = requests === undefined ? undefined : toIterator(requests)
    if (requests !== undefined && iterator === undefined) {
      this.#isEnded = true
      if (this.isLocal) this.value = toLocalValue(requests)
      else this.body = json.encode(requests)
      return
    }
    this.more = true
    this.#feed = iterator
    if (iterator !== undefined) void this.#pump(iterator)
  }

  protected override dispatched(): void {
    this.#flush()
  }

  protected failed(error: unknown): void {
    this.#stop()
    this.#miss(error)
    // A cancelled call discards its buffered responses.
    if (error instanceof GatewayError) this.replies.break(error)
    else this.replies.fail(error)
  }

  override onCredit(): void {
    this.#flush()
  }

  override onReply(_metadata: string, body: Uint8Array): void {
    if (!this.answered()) return
    this.replies.push(body)
    this.onEnd()
  }

  override onStart(): void {
    this.markHealthy()
    this.#arrive()
  }

  override onData(body: Uint8Array): void {
    if (this.isSettled) return
    this.markHealthy()
    this.#arrive()
    this.replies.push(body)
  }

  override onEnd(): void {
    this.answered()
    this.#arrive()
    this.#stop()
    this.replies.end()
  }

  #arrive(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    for (const { resolve } of this.#starting) resolve()
    this.#starting = []
  }

  #miss(error: unknown): void {
    if (this.#hasBegun) return
    this.#failure ??= { error }
    for (const { reject } of this.#starting) reject(error)
    this.#starting = []
  }

  /** Sends waiting requests as long as there is credit. */
  #flush(): void {
    if (this.carrier === undefined || !this.more) return
    const waiting = this.#waiting
    let next = 0
    while (next < waiting.length) {
      const { body, resolve, reject } = waiting[next]!
      try {
        if (!this.sendData(body)) break
        resolve(true)
      } catch (error) {
        // This request is too long; later ones may still fit.
        reject(error)
      }
      next++
    }
    this.#waiting = waiting.slice(next)
    if (this.#isEnded && this.#waiting.length === 0) this.endData()
  }

  async #pump(iterator: Iterator<unknown> | AsyncIterator<unknown>): Promise<void> {
    try {
      while (!this.isSettled) {
        const step = await iterator.next()
        if (step.done === true) {
          this.#feed = undefined
          return this.end()
        }
        if (!this.isSettled) await this.send(await step.value)
      }
    } catch (error) {
      this.#feed = undefined
      if (this.drop()) this.failed(error)
    }
  }

  /** Called when the call has ended. Discards requests and stops their source. */
  #stop(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { resolve } of waiting) resolve(false)
    const feed = this.#feed
    this.#feed = undefined
    if (feed?.return === undefined) return
    // Errors of the source are ignored.
    new Promise((resolve) => resolve(feed.return!())).catch(() => {})
  }

  #encode(request: unknown): string {
    // Values for this process are passed without serialization.
    if (this.isLocal) return toLocalValue(request) as string
    return json.encode(request) as string
  }

  #decode(body: unknown): unknown {
    if (this.isLocal) return this.#asText ? json.encode(body) : body
    try {
      return parseReply(this.service, body as Uint8Array, this.#asText)
    } catch (error) {
      this.abandon()
      void this.replies.return()
      throw error
    }
  }
}

function toIterator(requests: unknown): Iterator<unknown> | AsyncIterator<unknown> | undefined {
  if (typeof requests !== 'object' || requests === null) return undefined
  const iterable = requests as Partial<AsyncIterable<unknown> & Iterable<unknown>>
  return iterable[Symbol.asyncIterator]?.() ?? iterable[Symbol.iterator]?.()
}
