import { STATUS_CODES } from 'node:http'
import type { HeaderBlock, HeaderList } from '../http/headers.ts'

/** Status lines such as `404 Not Found`, built once instead of per response. */
const STATUS_LINES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
)
/** Space for other response headers after a block, in bytes. */
const SPARE_BYTES = 256
const CARRIAGE_RETURN = 13
const LINE_FEED = 10
const COLON = 58
const BLANK = 32

/**
 * Formats the status and headers of a response in one piece, without the last line break, for a writer that inserts it
 * verbatim: a native call per header would cost more than joining all headers. Safe because all names and values were
 * validated.
 *
 * The bytes are valid until the next call. Responses with status 200 that start with the same block share its bytes,
 * which costs a fifth of flattening and encoding a text (bench/micro/http/reply-head-out.ts).
 */
export function encodeReplyHead(status: number, headers: HeaderList): string | Uint8Array {
  const block = headers.leading
  if (status === 200 && block !== undefined && headers.ascii) {
    const bytes = findHead(block).format(headers.flat, block.fields.length)
    if (bytes !== undefined) return bytes
  }
  const text = headers.formatAfter(STATUS_LINES[status] ?? `${status} Unknown`)
  return headers.ascii ? text : Buffer.from(text, 'latin1')
}

/** Head of a 200 response up to the end of its block, with space for more headers. */
class BlockHead {
  readonly #memory: Uint8Array
  readonly #start: number
  /** Header name that currently follows the block. */
  #name = ''
  /** Views by number of bytes after the block. */
  readonly #views: (Uint8Array | undefined)[] = []

  constructor(block: HeaderBlock) {
    const text = `${STATUS_LINES[200]}${block.textAfterStart}`
    this.#start = text.length
    this.#memory = new Uint8Array(text.length + SPARE_BYTES)
    write(this.#memory, 0, text)
  }

  /** Adds the headers of `flat` starting at index `from`. Returns undefined if they do not fit. */
  format(flat: readonly string[], from: number): Uint8Array | undefined {
    const memory = this.#memory
    let at = this.#start
    for (let i = from; i < flat.length; i += 2) {
      const name = flat[i]!
      const value = flat[i + 1]!
      if (at + name.length + value.length + 4 > memory.length) return undefined
      // Usually the same name as in the previous response.
      if (i !== from || name !== this.#name) {
        memory[at] = CARRIAGE_RETURN
        memory[at + 1] = LINE_FEED
        write(memory, at + 2, name)
        memory[at + 2 + name.length] = COLON
        memory[at + 3 + name.length] = BLANK
        if (i === from) this.#name = name
      }
      at = write(memory, at + name.length + 4, value)
    }
    const bytes = at - this.#start
    this.#views[bytes] ??= memory.subarray(0, at)
    return this.#views[bytes]
  }
}

const heads = new WeakMap<HeaderBlock, BlockHead>()

function findHead(block: HeaderBlock): BlockHead {
  let head = heads.get(block)
  if (head === undefined) {
    head = new BlockHead(block)
    heads.set(block, head)
  }
  return head
}

/** Writes ASCII text and returns the offset after it. */
function write(memory: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) memory[at + i] = text.charCodeAt(i)
  return at + text.length
}
