import { createHeaderBlock, type HeaderBlock, HeaderList } from '../../http/headers.ts'
import type { LineMemory, ReplyHead } from './reply-head.ts'

/** Longest head kept, bytes. */
const HEAD_MAX_BYTES = 1024
const NO_BLOCK: HeaderBlock = createHeaderBlock([])
// One for all: of many nodes most are asked seldom.
const NO_BYTES = new Uint8Array(0)
const NO_WORDS = new Float64Array(0)

/**
 * What the last reply heads from a node looked like; shared by its connections.
 *
 * A head that came twice in a row is kept whole: as long as the same bytes come, comparing
 * them is all the parsing there is. Heads that differ are parsed with the memory of their lines.
 */
export class HeadMemory {
  readonly lines: LineMemory = []
  #bytes: Uint8Array = NO_BYTES
  /**
   * The same, eight bytes at a time; up to seven bytes at the end are left out. Two numbers are equal if their bytes are, but for
   * zeros, which a head has none of, and those that are none (NaN), which are not equal to themselves: then it is parsed.
   */
  #words: Float64Array = NO_WORDS
  #block = NO_BLOCK
  #status = 0
  #length = 0
  #persistent = true
  #idleSeconds = 0

  /**
   * Fills `head` if the head kept is what stands at `at`; says how long it is, 0 if it is another.
   *
   * @param words the same memory as `bytes`: compared in an eighth of the time where `at` allows.
   */
  recall(
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
    return length
  }

  /** Keeps a head that was just parsed out of `bytes`, if it is the same as the one before. */
  remember(bytes: Uint8Array, at: number, length: number, head: ReplyHead): void {
    const { headers } = head
    if (!head.repeated || !headers.ascii || length > HEAD_MAX_BYTES) return
    this.#bytes = Uint8Array.from(bytes.subarray(at, at + length))
    this.#words = new Float64Array(this.#bytes.buffer, 0, length >> 3)
    this.#block = createHeaderBlock(headers.flat)
    this.#status = head.status
    this.#length = head.length
    this.#persistent = head.persistent
    this.#idleSeconds = head.idleSeconds
  }
}
