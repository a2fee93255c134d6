const LINE_FEED = 10
/** Memory kept when there is nothing in it. */
const SPARE_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * Bytes that come in pieces, in one memory that grows: a body that comes byte by byte costs no
 * more than a body. Where it ends is for its user to say.
 */
export class ByteBuffer {
  #memory = NOTHING
  #start = 0
  #end = 0
  /** No line feed in front of it. */
  #searched = 0

  get length(): number {
    return this.#end - this.#start
  }

  /** All that is in it; valid until the next change. */
  get bytes(): Buffer {
    return this.#memory.subarray(this.#start, this.#end)
  }

  append(chunk: Uint8Array): void {
    if (chunk.length > this.#memory.length - this.#end) this.#makeRoom(chunk.length)
    this.#memory.set(chunk, this.#end)
    this.#end += chunk.length
  }

  /** Takes the first line out; without its line feed, valid until the next change. Undefined while it has no end. */
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
    if (this.#memory.length > SPARE_BYTES) this.#memory = NOTHING
  }

  #makeRoom(bytes: number): void {
    const { length } = this
    const needed = length + bytes
    // Half of it at most, or what is in it would be moved for every piece.
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
