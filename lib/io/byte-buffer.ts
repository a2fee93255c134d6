const LINE_FEED = 10
/** Memory retained while the buffer is empty, in bytes. */
const SPARE_BYTES = 64 * 1024
const EMPTY = Buffer.alloc(0)

/**
 * Growing buffer for chunks. A body that arrives byte by byte costs no more than a body in a single chunk.
 */
export class ByteBuffer {
  #memory = EMPTY
  #start = 0
  #end = 0
  /** Offset before which there is no line feed. */
  #searched = 0

  get length(): number {
    return this.#end - this.#start
  }

  /** Content, valid until the next change. */
  get bytes(): Buffer {
    return this.#memory.subarray(this.#start, this.#end)
  }

  append(chunk: Uint8Array): void {
    if (chunk.length > this.#memory.length - this.#end) this.#reserve(chunk.length)
    this.#memory.set(chunk, this.#end)
    this.#end += chunk.length
  }

  /**
   * Removes and returns the first line without its line feed, valid until the next change. Returns undefined while it
   * is incomplete.
   */
  takeLine(): Buffer | undefined {
    const start = this.#start
    const at = this.#memory.subarray(this.#searched, this.#end).indexOf(LINE_FEED)
    if (at < 0) {
      this.#searched = this.#end
      return undefined
    }
    const stop = this.#searched + at
    const line = this.#memory.subarray(start, stop)
    this.#start = stop + 1
    this.#searched = stop + 1
    if (this.#start === this.#end) this.clear()
    return line
  }

  clear(): void {
    this.#start = 0
    this.#end = 0
    this.#searched = 0
    if (this.#memory.length > SPARE_BYTES) this.#memory = EMPTY
  }

  #reserve(bytes: number): void {
    const { length } = this
    const needed = length + bytes
    // Only up to half; otherwise the content would be moved for every chunk.
    if (needed <= this.#memory.length / 2) {
      this.#memory.copyWithin(0, this.#start, this.#end)
    } else {
      const memory = Buffer.allocUnsafe(Math.max(needed, 2 * this.#memory.length))
      this.#memory.copy(memory, 0, this.#start, this.#end)
      this.#memory = memory
    }
    this.#searched -= this.#start
    this.#start = 0
    this.#end = length
  }
}
