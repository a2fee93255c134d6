import { replyMemory } from '../../../core/limits/memory-budget.ts'
import type { ResponseObserver } from '../../../core/reply/complete-response.ts'

export interface RecorderOptions {
  readonly maxBytes: number
  /** Announced length of the body; -1 if unknown. */
  readonly length: number
  /** Called with the complete body. */
  readonly onComplete: (body: Uint8Array) => void
  /** Called if the body is too long, or the process has no memory for it. */
  readonly onOverflow: () => void
}

/** Records the body of a response. An incomplete body is discarded without a call. */
export class BodyRecorder implements ResponseObserver {
  readonly #options: RecorderOptions
  #chunks: Uint8Array[] = []
  #bytes = 0
  #isOver = false

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  onChunk(chunk: Uint8Array): void {
    if (this.#isOver) return
    const { length } = chunk
    const isTooMuch = replyMemory.usedBytes + length > replyMemory.maxBytes
    if (this.#bytes + length > this.#options.maxBytes || isTooMuch) {
      this.#discard()
      return this.#options.onOverflow()
    }
    // Not `Buffer.from`, which would retain a shared pool.
    this.#chunks.push(Uint8Array.prototype.slice.call(chunk))
    this.#bytes += length
    replyMemory.usedBytes += length
  }

  onEnd(isComplete: boolean): void {
    if (this.#isOver) return
    const { length, onComplete } = this.#options
    const isIntact = isComplete && (length < 0 || length === this.#bytes)
    const body = isIntact ? join(this.#chunks, this.#bytes) : undefined
    this.#discard()
    if (body !== undefined) onComplete(body)
  }

  #discard(): void {
    this.#isOver = true
    replyMemory.usedBytes -= this.#bytes
    this.#chunks = []
    this.#bytes = 0
  }
}

function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  if (chunks.length === 1) return chunks[0]!
  const joined = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    joined.set(chunk, at)
    at += chunk.length
  }
  return joined
}
