import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Stream } from 'node:stream'
import { acquireBuffer, releaseBuffer } from '../../../../lib/io/buffer-pool.ts'

/** What is collected in one piece, bytes. */
const PIECE_BYTES = 65_536

/**
 * Where the library puts an answer of at most `maxBytes`. By itself it takes answers of any size, and waits until its timeout for
 * one whose connection ends in the middle. Emits `cancel` when the answer is not to be waited for any longer.
 *
 * An answer lies in memory that others have been in: of thousands of them, that of each would be freed long after it was read. For
 * the same reason it is the simplest stream there is.
 */
export class AnswerSink extends Stream {
  /** The library asks for it. */
  readonly writable = true
  headers: IncomingHttpHeaders = {}
  /** Why it was cut short; undefined: it was not. */
  problem: string | undefined = undefined
  readonly #maxBytes: number
  readonly #full: Buffer[] = []
  #memory: Buffer | undefined = undefined
  /** Bytes of it. */
  #filled = 0
  #bytes = 0

  constructor(maxBytes: number) {
    super()
    this.#maxBytes = maxBytes
    this.once('pipe', (response: IncomingMessage) => {
      this.headers = response.headers
      response.once('close', () => {
        if (!response.complete)
          this.#fail('the connection to Consul ended in the middle of an answer')
      })
    })
  }

  /** What arrived, in pieces: a long answer is not copied together, which would take as much memory again. */
  get chunks(): readonly Buffer[] {
    const memory = this.#memory
    return memory === undefined ? this.#full : [...this.#full, memory.subarray(0, this.#filled)]
  }

  write(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    if (this.#bytes <= this.#maxBytes) this.#collect(chunk)
    else this.#fail(`Consul's answer is longer than ${this.#maxBytes} bytes`)
    return true
  }

  /** Called where it ends. */
  end(): void {}

  /** Gives memory to the next answers: nobody may look at the chunks any more. Without it, it is left to the garbage collector. */
  release(): void {
    if (this.#memory !== undefined) this.#full.push(this.#memory)
    for (const memory of this.#full.splice(0)) releaseBuffer(memory)
    this.#memory = undefined
  }

  #collect(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      this.#memory ??= acquireBuffer(PIECE_BYTES)
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
