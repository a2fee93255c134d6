import { STATUS_CODES } from 'node:http'
import type { HeaderBlock, HeaderList } from '../http/headers.ts'

/** `404 Not Found` and so on: built once, not per response. */
const STATUS_LINES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
)
/** Space after a block for the other headers of a response, bytes. */
const ROOM_BYTES = 256
const CARRIAGE_RETURN = 13
const LINE_FEED = 10
const COLON = 58
const BLANK = 32

/**
 * Formats status and headers of a response in one piece, without the last line end, for a writer that inserts it verbatim: each
 * call into native code costs more than joining all headers. Safe because every name and value was checked.
 *
 * Bytes are valid until the next call. Responses with status 200 that begin with the same block share its bytes, which costs a
 * fifth of flattening and encoding a text (bench/micro/http/reply-head-out.ts).
 */
export function encodeReplyHead(status: number, headers: HeaderList): string | Uint8Array {
  const block = headers.leading
  if (status === 200 && block !== undefined && headers.ascii) {
    const bytes = findHead(block).format(headers.flat, block.fields.length)
    if (bytes !== undefined) return bytes
  }
  const text = headers.formatBehind(STATUS_LINES[status] ?? `${status} Unknown`)
  return headers.ascii ? text : Buffer.from(text, 'latin1')
}

/** Head of a response 200 up to the end of its block, with space for more headers. */
class BlockHead {
  readonly #memory: Uint8Array
  readonly #start: number
  /** The name that currently follows the block. */
  #name = ''
  /** By the number of bytes after the block. */
  readonly #views: (Uint8Array | undefined)[] = []

  constructor(block: HeaderBlock) {
    const text = `${STATUS_LINES[200]}${block.behind}`
    this.#start = text.length
    this.#memory = new Uint8Array(text.length + ROOM_BYTES)
    write(this.#memory, 0, text)
  }

  /** Adds the headers of `flat` from index `from` on; undefined when they do not fit. */
  format(flat: readonly string[], from: number): Uint8Array | undefined {
    const memory = this.#memory
    let at = this.#start
    for (let i = from; i < flat.length; i += 2) {
      const name = flat[i]!
      const value = flat[i + 1]!
      if (at + name.length + value.length + 4 > memory.length) return undefined
      // Usually the same name as last time.
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

/** Writes ASCII and returns the offset after it. */
function write(memory: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) memory[at + i] = text.charCodeAt(i)
  return at + text.length
}
