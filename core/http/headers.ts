/** Hop-by-hop and framing headers, which each sender sets itself (RFC 9112 §6, RFC 9110 §7.6.1). */
const HOP_BY_HOP_AND_FRAMING = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Header name: RFC 9110 §5.1 token, lower case. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/**
 * Header value: RFC 9110 §5.5, visible characters, spaces, tabs and obs-text (one character per byte); no control
 * characters.
 */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const ASCII_VALUE = /^[\t\x20-\x7e]*$/

/** Headers shared by many messages, validated and joined only once. */
export interface HeaderBlock {
  /** name, value, name, value… */
  readonly fields: readonly string[]
  /** Formatted as by {@link HeaderList.format}. */
  readonly text: string
  /** Formatted as by {@link HeaderList.formatAfter}. */
  readonly textAfterStart: string
  /** Latest results of {@link joinOnce}, by slot. */
  readonly joined: (JoinedBlock | undefined)[]
}

interface JoinedBlock {
  readonly host: string
  readonly method: string
  readonly text: string
}

/**
 * Creates a block for {@link HeaderList.appendBlock}.
 *
 * @throws {TypeError} see {@link HeaderList.append}; in addition, values must be ASCII.
 */
export function createHeaderBlock(fields: readonly string[]): HeaderBlock {
  const list = new HeaderList(fields)
  if (!list.ascii) throw new TypeError('header block fields must be ASCII')
  return {
    fields: list.flat,
    text: list.format(),
    textAfterStart: list.formatAfter(''),
    joined: [],
  }
}

/**
 * Joins a block's text with text that depends on host and method. Consecutive calls with the same host and method
 * return the same string.
 *
 * @param slot one slot per kind of text.
 */
export function joinOnce(
  block: HeaderBlock,
  slot: 0 | 1,
  host: string,
  method: string,
  join: (host: string, method: string, text: string) => string,
): string {
  const last = block.joined[slot]
  if (last !== undefined && last.host === host && last.method === method) return last.text
  // Flattened: a concatenated string is a tree that every write would traverse.
  const text = Buffer.from(join(host, method, block.text), 'latin1').toString('latin1')
  block.joined[slot] = { host, method, text }
  return text
}

/**
 * Headers in sending order, including repeats, with lower-case names.
 *
 * Values are byte strings with characters up to U+00FF, one per byte, as in node:http. Names and values are validated
 * when they are added, so that no plugin or backend can split a message (RFC 9110 §5.5).
 */
export class HeaderList {
  /** name, value, name, value… Intended for reading in loops; use the methods to change the list. */
  readonly flat: readonly string[]
  /** False once a value contained a byte above 0x7F. Such a list is encoded on a slower path. */
  ascii = true
  /** `Date` of a response of a backend, which is not part of the list because listeners set it. */
  date: string | undefined = undefined
  /** Headers available in joined form, with their start in `flat`. */
  #block: HeaderBlock | undefined = undefined
  #blockStart = 0

  constructor(fields: readonly string[] = []) {
    this.flat = []
    for (let i = 0; i + 1 < fields.length; i += 2) this.append(fields[i]!, fields[i + 1]!)
  }

  static of(block: HeaderBlock): HeaderList {
    const list = new HeaderList()
    ;(list as { flat: readonly string[] }).flat = block.fields.slice()
    list.#block = block
    return list
  }

  /** The block, in any position. */
  get block(): HeaderBlock | undefined {
    return this.#block
  }

  /** The block, if the list starts with it. */
  get leading(): HeaderBlock | undefined {
    return this.#blockStart === 0 ? this.#block : undefined
  }

  get size(): number {
    return this.flat.length / 2
  }

  /** First value of `name` (lower case), or undefined. */
  get(name: string): string | undefined {
    const { flat } = this
    for (let i = 0; i < flat.length; i += 2) if (flat[i] === name) return flat[i + 1]
    return undefined
  }

  /** @param name in lower case. */
  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  /** Returns all values of `name` (lower case) in order. */
  getAll(name: string): string[] {
    const { flat } = this
    const values: string[] = []
    for (let i = 0; i < flat.length; i += 2) if (flat[i] === name) values.push(flat[i + 1]!)
    return values
  }

  /**
   * Adds a header at the end.
   *
   * @throws {TypeError} if the name is not a token or frames the message, or the value contains a control character.
   */
  append(name: string, value: string): void {
    const lower = name.toLowerCase()
    if (!NAME.test(lower))
      throw new TypeError(`header name must be a token, got ${JSON.stringify(name)}`)
    if (HOP_BY_HOP_AND_FRAMING.has(lower))
      throw new TypeError(`the gateway manages the header ${lower}`)
    if (!ASCII_VALUE.test(value)) {
      this.ascii = false
      if (!VALUE.test(value)) {
        throw new TypeError(
          `header ${lower} must not contain control characters, got ${JSON.stringify(value)}`,
        )
      }
    }
    ;(this.flat as string[]).push(lower, value)
  }

  /**
   * Replaces all headers with this name.
   *
   * @throws {TypeError} see {@link append}.
   */
  set(name: string, value: string): void {
    this.delete(name.toLowerCase())
    this.append(name, value)
  }

  /** Removes all headers with this name (lower case). */
  delete(name: string): void {
    const flat = this.flat as string[]
    let length = 0
    for (let i = 0; i < flat.length; i += 2) {
      if (flat[i] === name) continue
      if (length !== i) {
        flat[length] = flat[i]!
        flat[length + 1] = flat[i + 1]!
      }
      length += 2
    }
    if (length === flat.length) return
    flat.length = length
    this.#block = undefined
  }

  /** Adds the headers of a block individually. */
  appendAll({ fields }: HeaderBlock): void {
    const flat = this.flat as string[]
    for (let i = 0; i < fields.length; i += 2) flat.push(fields[i]!, fields[i + 1]!)
  }

  /**
   * Adds all headers of a block. One block per list is written in joined form, at a tenth of the cost of joining five
   * headers. Requests write it first, so it must not repeat preceding names.
   */
  appendBlock(block: HeaderBlock): void {
    this.#block = block
    this.#blockStart = this.flat.length
    this.appendAll(block)
  }

  /** Formats the headers of a message as `name: value` lines, each followed by CRLF. */
  format(): string {
    const { flat } = this
    const block = this.#block
    const blockStart = block === undefined ? -1 : this.#blockStart
    let text = ''
    for (let i = 0; i < flat.length; i += 2) {
      if (i === blockStart) {
        text += block!.text
        i += block!.fields.length - 2
      } else text += `${flat[i]}: ${flat[i + 1]}\r\n`
    }
    return text
  }

  /** Like {@link format}, without the block and after `start`. */
  formatRest(start: string): string {
    const { flat } = this
    const blockEnd = this.#blockStart + (this.#block?.fields.length ?? 0)
    let text = start
    for (let i = 0; i < flat.length; i += 2) {
      if (i === this.#blockStart && i !== blockEnd) i = blockEnd
      // A template instead of `+=`: a flat concatenation is flattened faster than a nested one.
      if (i < flat.length) text = `${text}${flat[i]}: ${flat[i + 1]}\r\n`
    }
    return text
  }

  /** Formats a start line and the headers as `name: value` lines, each preceded by CRLF. */
  formatAfter(startLine: string): string {
    const { flat } = this
    const block = this.leading
    let text = startLine
    if (block !== undefined) text += block.textAfterStart
    for (let i = block?.fields.length ?? 0; i < flat.length; i += 2)
      text += `\r\n${flat[i]}: ${flat[i + 1]}`
    return text
  }
}

/**
 * Adds a header without validation. For listeners, the upstream client and built-in plugins, whose headers were
 * validated by a parser or consist of validated parts. Not a method, so that third-party plugins cannot call it.
 */
export function appendParsed(list: HeaderList, name: string, value: string): void {
  ;(list.flat as string[]).push(name, value)
}
