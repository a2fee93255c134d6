/** Fields of the connection and of where a message ends: written by whoever sends it (RFC 9112 §6, RFC 9110 §7.6.1). */
const OF_THE_CONNECTION = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** A field name: RFC 9110 §5.1 token, lower case. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** A field value: RFC 9110 §5.5, visible characters, blanks and obs-text (one character a byte); no control characters. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const ASCII_VALUE = /^[\t\x20-\x7e]*$/

/** Fields that many messages carry unchanged: checked and joined once. */
export interface HeaderBlock {
  /** name, value, name, value… */
  readonly fields: readonly string[]
  /** The same as {@link HeaderList.format} writes it. */
  readonly text: string
  /** The same as {@link HeaderList.formatBehind} writes it. */
  readonly behind: string
  /** What {@link joinOnce} made of it last, by place. */
  readonly joined: (JoinedBlock | undefined)[]
}

interface JoinedBlock {
  readonly host: string
  readonly method: string
  readonly text: string
}

/**
 * Joins fields for {@link HeaderList.appendBlock}.
 *
 * @throws {TypeError} as {@link HeaderList.append}; for values beyond ASCII too.
 */
export function createHeaderBlock(fields: readonly string[]): HeaderBlock {
  const list = new HeaderList(fields)
  if (!list.ascii) throw new TypeError('the fields of a block must be ASCII')
  return { fields: list.flat, text: list.format(), behind: list.formatBehind(''), joined: [] }
}

/**
 * A block's text joined with more, which requests for the same host share: the same one string as last time, if it was
 * for the same host and method.
 *
 * @param place of that kind of text: each kind has its own.
 */
export function joinOnce(
  block: HeaderBlock,
  place: 0 | 1,
  host: string,
  method: string,
  join: (host: string, method: string, text: string) => string,
): string {
  const last = block.joined[place]
  if (last !== undefined && last.host === host && last.method === method) return last.text
  // In one piece: a joined string is a tree, which is walked whenever it is written.
  const text = Buffer.from(join(host, method, block.text), 'latin1').toString('latin1')
  block.joined[place] = { host, method, text }
  return text
}

/**
 * Header fields in the order they were sent, repeats kept, names in lower case.
 *
 * Values are strings of bytes: characters up to U+00FF, one a byte, as in node:http.
 * Every name and value is checked when it is added, so nothing that a plugin
 * or a backend supplies can split a message (RFC 9110 §5.5).
 */
export class HeaderList {
  /** name, value, name, value… Read it in loops; change the list through the methods only. */
  readonly flat: readonly string[]
  /** False once a value held a byte above 0x7F: such a list takes the slow way out. */
  ascii = true
  /** A run of fields known in joined form, and where it begins. */
  #block: HeaderBlock | undefined = undefined
  #blockStart = 0

  constructor(fields: readonly string[] = []) {
    this.flat = []
    for (let i = 0; i + 1 < fields.length; i += 2) this.append(fields[i]!, fields[i + 1]!)
  }

  /** A list of a block's fields. */
  static of(block: HeaderBlock): HeaderList {
    const list = new HeaderList()
    ;(list as { flat: readonly string[] }).flat = block.fields.slice()
    list.#block = block
    return list
  }

  /** The block in it, at whatever place. */
  get block(): HeaderBlock | undefined {
    return this.#block
  }

  /** The block it begins with. */
  get leading(): HeaderBlock | undefined {
    return this.#blockStart === 0 ? this.#block : undefined
  }

  /** Number of fields. */
  get size(): number {
    return this.flat.length / 2
  }

  /** First value of `name` (lower case), or undefined. */
  get(name: string): string | undefined {
    const { flat } = this
    for (let i = 0; i < flat.length; i += 2) if (flat[i] === name) return flat[i + 1]
    return undefined
  }

  /** Whether there is a field of that name (lower case). */
  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  /** All values of `name` (lower case) in order. */
  getAll(name: string): string[] {
    const { flat } = this
    const values: string[] = []
    for (let i = 0; i < flat.length; i += 2) if (flat[i] === name) values.push(flat[i + 1]!)
    return values
  }

  /**
   * Adds a field after the others.
   *
   * @throws {TypeError} when the name is no token, frames the message, or the value holds a control character.
   */
  append(name: string, value: string): void {
    const lower = name.toLowerCase()
    if (!NAME.test(lower))
      throw new TypeError(`header name must be a token, got ${JSON.stringify(name)}`)
    if (OF_THE_CONNECTION.has(lower)) throw new TypeError(`the gateway manages the header ${lower}`)
    if (!ASCII_VALUE.test(value)) {
      this.ascii = false
      if (!VALUE.test(value)) {
        throw new TypeError(
          `header ${lower} must hold no control characters, got ${JSON.stringify(value)}`,
        )
      }
    }
    ;(this.flat as string[]).push(lower, value)
  }

  /**
   * Replaces every field of that name by one.
   *
   * @throws {TypeError} as {@link append}.
   */
  set(name: string, value: string): void {
    this.delete(name.toLowerCase())
    this.append(name, value)
  }

  /** Removes every field of that name (lower case). */
  delete(name: string): void {
    const flat = this.flat as string[]
    let kept = 0
    for (let i = 0; i < flat.length; i += 2) {
      if (flat[i] === name) continue
      if (kept !== i) {
        flat[kept] = flat[i]!
        flat[kept + 1] = flat[i + 1]!
      }
      kept += 2
    }
    if (kept === flat.length) return
    flat.length = kept
    this.#block = undefined
  }

  /** Adds the fields of a block, as fields of their own. */
  appendAll({ fields }: HeaderBlock): void {
    const flat = this.flat as string[]
    for (let i = 0; i < fields.length; i += 2) flat.push(fields[i]!, fields[i + 1]!)
  }

  /**
   * Adds all fields of a block. One block a list is written in its joined form, which costs a tenth of joining five fields;
   * requests are written with it first, so it must hold no name that stands before it.
   */
  appendBlock(block: HeaderBlock): void {
    this.#block = block
    this.#blockStart = this.flat.length
    this.appendAll(block)
  }

  /** The fields as they stand in a message: `name: value` and CRLF, each. */
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

  /** {@link format} without the block, behind a text. */
  formatRest(start: string): string {
    const { flat } = this
    const blockEnd = this.#blockStart + (this.#block?.fields.length ?? 0)
    let text = start
    for (let i = 0; i < flat.length; i += 2) {
      if (i === this.#blockStart && i !== blockEnd) i = blockEnd
      // Not `+=`: pieces joined one behind the other are written out faster than pieces of pieces.
      if (i < flat.length) text = `${text}${flat[i]}: ${flat[i + 1]}\r\n`
    }
    return text
  }

  /** A start line and the fields behind it: CRLF and `name: value`, each. */
  formatBehind(startLine: string): string {
    const { flat } = this
    const block = this.leading
    let text = startLine
    if (block !== undefined) text += block.behind
    for (let i = block?.fields.length ?? 0; i < flat.length; i += 2)
      text += `\r\n${flat[i]}: ${flat[i + 1]}`
    return text
  }
}

/**
 * Adds a field without a check. For listeners, the upstream client and built-in plugins, whose
 * parsers have checked it or that made it of checked parts; no method, so that it is out of reach
 * of plugins of others.
 */
export function appendParsed(list: HeaderList, name: string, value: string): void {
  ;(list.flat as string[]).push(name, value)
}
