import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Stream } from 'node:stream'
import { acquireBuffer, releaseBuffer } from '../../../../lib/io/buffer-pool.ts'

/** Size of a buffer in bytes. */
const BUFFER_BYTES = 65_536

/**
 * Collects a response of at most `maxBytes` for the library. The library itself accepts any size,
 * and waits for its timeout if a connection closes during a response. Emits `cancel` to abort the
 * request.
 *
 * Buffers are pooled, because with thousands of responses, garbage collection would free them long
 * after use. For the same reason, this class is a minimal legacy stream.
 */
export class ResponseSink extends Stream {
  /** Required by the library. */
  readonly writable = true
  headers: IncomingHttpHeaders = {}
  /** Reason for aborting the request. */
  problem: string | undefined = undefined
  readonly #maxBytes: number
  readonly #full: Buffer[] = []
  #memory: Buffer | undefined = undefined
  /** Number of bytes used in {@link #memory}. */
  #filled = 0
  #bytes = 0

  constructor(maxBytes: number) {
    super()
    this.#maxBytes = maxBytes
    this.once('pipe', (response: IncomingMessage) => {
      this.headers = response.headers
      response.once('close', () => {
        if (!response.complete)
          this.#fail('the connection to Consul closed before the response was complete')
      })
    })
  }

  /** Received data in chunks, because concatenating a large response would double its memory. */
  get chunks(): readonly Buffer[] {
    const memory = this.#memory
    return memory === undefined ? this.#full : [...this.#full, memory.subarray(0, this.#filled)]
  }

  write(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    if (this.#bytes <= this.#maxBytes) this.#collect(chunk)
    else this.#fail(`the Consul response exceeds the limit of ${this.#maxBytes} bytes`)
    return true
  }

  /** Required by the library. */
  end(): void {}

  /** Optionally returns the buffers to the pool. The chunks must not be used afterwards. */
  release(): void {
    if (this.#memory !== undefined) this.#full.push(this.#memory)
    for (const memory of this.#full.splice(0)) releaseBuffer(memory)
    this.#memory = undefined
  }

  #collect(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      this.#memory ??= acquireBuffer(BUFFER_BYTES)
      const copied = chunk.copy(this.#memory, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < this.#memory.length) continue
      this.#full.push(this.#memory)
      this.#memory = undefined
      this.#filled = 0
    }
  }

  #fail(reason: string): void {
    if (this.problem !== undefined) return
    this.problem = reason
    this.emit('cancel')
  }
}
