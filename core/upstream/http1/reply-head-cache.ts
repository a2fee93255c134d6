import { createHeaderBlock, type HeaderBlock, HeaderList } from '../../http/headers.ts'
import type { LineMemory, ReplyHead } from './reply-head.ts'

/** Maximum size of a cached head in bytes. */
const HEAD_MAX_BYTES = 1024
const NO_BLOCK: HeaderBlock = createHeaderBlock([])
// Shared because most nodes are rarely used.
const NO_BYTES = new Uint8Array(0)
const EMPTY_WORDS = new Float64Array(0)

/**
 * Cache of a node's last response head, shared by its connections.
 *
 * A head that arrives twice in a row is cached as a whole: as long as the bytes are the same, comparing replaces
 * parsing. Other heads are parsed with the line cache.
 */
export class HeadMemory {
  readonly lines: LineMemory = []
  #bytes: Uint8Array = NO_BYTES
  /**
   * The cached head as 64-bit numbers, without the last bytes. Equal numbers mean equal bytes, except for zero, which
   * does not occur in a head, and NaN, which never equals itself, so that the head is parsed again.
   */
  #words: Float64Array = EMPTY_WORDS
  #block = NO_BLOCK
  #date: string | undefined = undefined
  #status = 0
  #length = 0
  #persistent = true
  #idleSeconds = 0

  /**
   * Sets `head` and returns its length if the cached head is at `at`. Returns 0 for another head.
   *
   * @param words the same memory as `bytes`; compared in an eighth of the time if `at` is aligned.
   */
  get(
    bytes: Uint8Array,
    words: Float64Array | undefined,
    at: number,
    to: number,
    head: ReplyHead,
  ): number {
    const known = this.#bytes
    const { length } = known
    if (length === 0 || length > to - at) return 0
    let compared = 0
    if (words !== undefined && (at & 7) === 0) {
      const knownWords = this.#words
      const { length: count } = knownWords
      const start = at >> 3
      for (let i = 0; i < count; i++) if (knownWords[i] !== words[start + i]) return 0
      compared = count * 8
    }
    for (let i = compared; i < length; i++) if (known[i] !== bytes[at + i]) return 0
    head.status = this.#status
    head.length = this.#length
    head.persistent = this.#persistent
    head.idleSeconds = this.#idleSeconds
    head.headers = HeaderList.of(this.#block)
    head.headers.date = this.#date
    return length
  }

  /** Caches a head just parsed from `bytes` if it is the same as the previous one. */
  set(bytes: Uint8Array, at: number, length: number, head: ReplyHead): void {
    const { headers } = head
    if (!head.repeated || !headers.ascii || length > HEAD_MAX_BYTES) return
    this.#bytes = Uint8Array.from(bytes.subarray(at, at + length))
    this.#words = new Float64Array(this.#bytes.buffer, 0, length >> 3)
    this.#block = createHeaderBlock(headers.flat)
    this.#date = headers.date
    this.#status = head.status
    this.#length = head.length
    this.#persistent = head.persistent
    this.#idleSeconds = head.idleSeconds
  }
}
