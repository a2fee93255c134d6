import type { Socket } from 'node:net'
import { releaseBuffer } from '../../../lib/io/buffer-pool.ts'

/** Number of bytes passed to the kernel at a time. */
const BATCH_BYTES = 1024 * 1024

interface QueuedChunk {
  readonly bytes: Buffer
  /** Returned to the pool after sending; undefined if garbage-collected. */
  readonly memory: Buffer | undefined
}

/**
 * Chunks waiting for the kernel to accept earlier chunks. A Node.js stream frees queued chunks only after the current
 * tick, and uSockets may read hundreds of megabytes in one tick.
 */
export class SendQueue {
  bytes = 0
  #chunks: QueuedChunk[] = []

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  /** @param memory pooled buffer of `bytes`; undefined if none. */
  push(bytes: Buffer, memory: Buffer | undefined): void {
    this.#chunks.push({ bytes, memory })
    this.bytes += bytes.length
  }

  /** Writes the next batch. Returns false if the caller must wait for `drain`. */
  write(socket: Socket): boolean {
    let written = 0
    socket.cork()
    while (this.#chunks.length > 0 && written < BATCH_BYTES) {
      const { bytes, memory } = this.#chunks.shift()!
      written += bytes.length
      socket.write(bytes, () => {
        if (memory !== undefined) releaseBuffer(memory)
      })
    }
    this.bytes -= written
    socket.uncork()
    return this.isEmpty && !socket.writableNeedDrain
  }

  /** Discards all chunks. */
  clear(): void {
    for (const { memory } of this.#chunks) if (memory !== undefined) releaseBuffer(memory)
    this.#chunks = []
    this.bytes = 0
  }
}
