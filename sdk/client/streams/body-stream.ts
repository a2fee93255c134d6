/** The call that a stream of bodies belongs to. */
export interface BodySource {
  /** Decodes a body. Throws or rejects if it is invalid. */
  readonly decode: (body: unknown) => unknown
  /** Called with the number of bytes when the reader has consumed a body. */
  readonly onConsumed: (bytes: number) => void
  /** Rejects with the error of the stream. @default unchanged */
  readonly reject?: (error: unknown) => Promise<never>
}

interface Waiting {
  readonly resolve: (result: IteratorResult<unknown> | Promise<never>) => void
  readonly reject: (error: unknown) => void
}

/** Consumed slots before the array is compacted. */
const CONSUMED_MAX = 256
const DONE: IteratorResult<unknown> = { done: true, value: undefined }

/**
 * Received bodies of a call as an async iterator: bytes, text, or values from this process.
 *
 * Bodies are decoded on demand, and credit is returned as they are consumed, so the window of the call bounds the
 * buffer.
 */
export class BodyStream implements AsyncIterableIterator<unknown> {
  readonly #source: BodySource
  /** Consumed slots are undefined. */
  #bodies: unknown[] = []
  #next = 0
  #waiting: Waiting | undefined = undefined
  #ended = false
  #failure: { readonly error: unknown } | undefined = undefined

  constructor(source: BodySource) {
    this.#source = source
  }

  /** Adds a body. The memory of bytes may be reused after `push` returns. */
  push(body: unknown): void {
    if (this.#ended) return
    const waiting = this.#waiting
    if (waiting === undefined) this.#bodies.push(body instanceof Uint8Array ? copy(body) : body)
    else {
      this.#waiting = undefined
      this.#take(body).then(waiting.resolve, waiting.reject)
    }
  }

  /** Ends the stream after the buffered bodies. */
  end(): void {
    this.#ended = true
    this.#waiting?.resolve(DONE)
    this.#waiting = undefined
  }

  /** Ends the stream with an error after the buffered bodies. */
  break(error: unknown): void {
    this.#ended = true
    this.#failure ??= { error }
    this.#waiting?.resolve(this.#reject(error))
    this.#waiting = undefined
  }

  /** Fails the stream: the next read gets the error. */
  fail(error: unknown): void {
    this.#clear()
    this.break(error)
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.#next < this.#bodies.length) {
      const body = this.#bodies[this.#next]!
      this.#bodies[this.#next++] = undefined
      if (this.#next === this.#bodies.length) this.#clear()
      else if (this.#next >= CONSUMED_MAX && this.#next * 2 >= this.#bodies.length) {
        // A slow reader may never empty the list, so the consumed entries are dropped.
        this.#bodies = this.#bodies.slice(this.#next)
        this.#next = 0
      }
      return this.#take(body)
    }
    if (this.#failure !== undefined) return this.#reject(this.#failure.error)
    if (this.#ended) return Promise.resolve(DONE)
    if (this.#waiting !== undefined)
      return Promise.reject(new Error('a stream can be iterated by one loop at a time'))
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  /** Called when the reader leaves its loop. Further bodies are dropped. */
  return(): Promise<IteratorResult<unknown>> {
    this.#clear()
    this.end()
    return Promise.resolve(DONE)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #reject(error: unknown): Promise<never> {
    return this.#source.reject?.(error) ?? Promise.reject(error)
  }

  #clear(): void {
    this.#bodies = []
    this.#next = 0
  }

  /** Decodes immediately, because the memory of the body is reused afterwards. */
  #take(body: unknown): Promise<IteratorResult<unknown>> {
    try {
      const bytes = body instanceof Uint8Array ? body.length : 0
      const value = this.#source.decode(body)
      this.#source.onConsumed(bytes)
      return value instanceof Promise
        ? value.then((decoded: unknown) => ({ done: false, value: decoded }))
        : Promise.resolve({ done: false, value })
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

function copy(bytes: Uint8Array): Uint8Array {
  return Uint8Array.prototype.slice.call(bytes)
}
