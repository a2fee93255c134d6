import { bodyMemory } from '../../limits/memory-budget.ts'

/** Maximum size of a request body that is stored for retries, in bytes. */
const MAX_BYTES = 64 * 1024
/** Memory overhead of each chunk. */
const CHUNK_BYTES = 128
/** Above this number, chunks are joined, since a request may arrive byte by byte. */
const CHUNKS_MAX = 256
/** Share of `bodyMemory` for copies; the rest is for requests in transit. */
const MEMORY_SHARE = 1 / 2

/** The request body sent so far, stored for a retry. */
export class RequestCopy {
  /** Undefined if the body is too long, memory is scarce, or the copy was dropped. */
  chunks: Uint8Array[] | undefined = []
  /** Whether the last chunk has been added. */
  isComplete = false
  #length = 0

  /** Bytes in memory. */
  get bytes(): number {
    return this.chunks === undefined ? 0 : this.#length + this.chunks.length * CHUNK_BYTES
  }

  /** Adds a chunk, which must not change afterwards. */
  add(chunk: Uint8Array, isLast: boolean): void {
    this.isComplete = isLast
    if (this.chunks === undefined) return
    this.#length += chunk.length
    const isScarce = bodyMemory.usedBytes > bodyMemory.maxBytes * MEMORY_SHARE
    if (this.#length > MAX_BYTES || isScarce) {
      this.chunks = undefined
      return
    }
    if (this.chunks.length === CHUNKS_MAX) this.chunks = [Buffer.concat(this.chunks)]
    this.chunks.push(chunk)
  }

  /** Sends the stored chunks. */
  replay(send: (chunk: Uint8Array, isLast: boolean) => void): void {
    const chunks = this.chunks ?? []
    for (const [i, chunk] of chunks.entries())
      send(chunk, this.isComplete && i === chunks.length - 1)
  }

  /** Frees the chunks because the request will not be sent again. */
  drop(): void {
    this.chunks = undefined
  }
}
