import type { Duplex } from 'node:stream'
import type { HeaderList } from '../http/headers.ts'
import { replyMemory } from '../limits/memory-budget.ts'

/** Destination of a changed body, and source of the original one. */
export interface BodyOutput {
  /** Returns false if the client is slow; {@link ReplyBodyStream.resume} follows. */
  readonly write: (chunk: Uint8Array) => boolean
  readonly end: (trailers: HeaderList | undefined) => void
  /** Called when the sender may continue after `write` returned false. */
  readonly onDrain: () => void
  /** @param index position of the stream that failed. */
  readonly onError: (error: unknown, index: number) => void
}

/** A response body on its way through the streams of plugins. */
export class ReplyBodyStream {
  readonly #streams: readonly Duplex[]
  readonly #input: Duplex
  #trailers: HeaderList | undefined = undefined
  /** Bytes counted in `replyMemory`. */
  #waitingBytes = 0

  /** @param streams at least one, in the order in which they change the body. */
  constructor(streams: readonly Duplex[], output: BodyOutput) {
    this.#streams = streams
    this.#input = streams[0]!
    for (const [index, stream] of streams.entries()) {
      stream.on('error', (error) => output.onError(error, index))
      const next = streams[index + 1]
      if (next !== undefined) stream.pipe(next)
    }
    const last = streams.at(-1)!
    last.on('data', (chunk: Uint8Array) => {
      if (!last.destroyed && !output.write(chunk)) last.pause()
    })
    last.on('end', () => {
      if (!last.destroyed) output.end(this.#trailers)
    })
    this.#input.on('drain', output.onDrain)
  }

  /** Copies the chunk. Returns false if the caller must wait for `onDrain`. */
  write(chunk: Uint8Array): boolean {
    const { length } = chunk
    this.#count(length)
    return this.#input.write(Buffer.from(chunk), () => {
      if (!this.#input.destroyed) this.#count(-length)
    })
  }

  end(trailers?: HeaderList): void {
    this.#trailers = trailers
    this.#input.end()
  }

  /** The client can receive more. */
  resume(): void {
    this.#streams.at(-1)!.resume()
  }

  /** Discards the rest of the body. */
  close(): void {
    for (const stream of this.#streams) stream.destroy()
    this.#count(-this.#waitingBytes)
  }

  #count(bytes: number): void {
    replyMemory.usedBytes += bytes
    this.#waitingBytes += bytes
  }
}
