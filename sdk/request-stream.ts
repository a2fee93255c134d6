/** What a stream of requests needs of the call it belongs to. */
export interface RequestSource {
  /** What the handler gets of a body. Throws, or rejects, when it does not fit. */
  readonly decode: (body: Uint8Array) => unknown
  /** The handler has taken a body of that many bytes. */
  readonly onConsumed: (bytes: number) => void
}

interface Waiting {
  readonly resolve: (result: IteratorResult<unknown>) => void
  readonly reject: (error: unknown) => void
}

const DONE: IteratorResult<unknown> = { done: true, value: undefined }

/**
 * The requests of a call whose caller sends a stream, as its handler iterates over them.
 *
 * Bodies wait undecoded until they are asked for, and the caller may send more only as they are consumed: so what waits
 * here is bounded by the window of the call.
 */
export class RequestStream implements AsyncIterableIterator<unknown> {
  readonly #source: RequestSource
  #bodies: Uint8Array[] = []
  #next = 0
  #waiting: Waiting | undefined = undefined
  #ended = false
  #failure: { readonly error: unknown } | undefined = undefined

  constructor(source: RequestSource) {
    this.#source = source
  }

  /** Adds a body; its memory may be reused after the call. */
  push(body: Uint8Array): void {
    if (this.#ended) return
    const waiting = this.#waiting
    if (waiting === undefined) this.#bodies.push(Uint8Array.prototype.slice.call(body))
    else {
      this.#waiting = undefined
      this.#take(body).then(waiting.resolve, waiting.reject)
    }
  }

  /** The caller has sent its last body. */
  end(): void {
    this.#ended = true
    this.#waiting?.resolve(DONE)
    this.#waiting = undefined
  }

  /** The call is over: the handler gets `error` instead of another request. */
  fail(error: unknown): void {
    this.#ended = true
    this.#bodies = []
    this.#next = 0
    this.#failure = { error }
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.#next < this.#bodies.length) {
      const body = this.#bodies[this.#next++]!
      if (this.#next === this.#bodies.length) {
        this.#bodies = []
        this.#next = 0
      }
      return this.#take(body)
    }
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error)
    if (this.#ended) return Promise.resolve(DONE)
    if (this.#waiting !== undefined)
      return Promise.reject(new Error('requests can be iterated by one loop at a time'))
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  /** The handler has left its loop: what else comes is dropped. */
  return(): Promise<IteratorResult<unknown>> {
    this.#ended = true
    this.#bodies = []
    this.#next = 0
    return Promise.resolve(DONE)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #take(body: Uint8Array): Promise<IteratorResult<unknown>> {
    const bytes = body.length
    // Decoded before the first `await`: the memory of a body that just came in is somebody else's afterwards.
    const value = this.#source.decode(body)
    this.#source.onConsumed(bytes)
    return { done: false, value: await value }
  }
}
