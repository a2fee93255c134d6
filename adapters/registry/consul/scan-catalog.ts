import { setImmediate as turn } from 'node:timers/promises'
import { REVISION } from './tags.ts'

/** A service of the catalog and its tags, not yet parsed. */
export interface ScannedService {
  readonly name: string
  /** Of the tags that describe it, whatever their order. */
  readonly hash: string
  /** Of the others: they are other ones when its nodes are. */
  readonly revision: number
  /** Parses the tags. @throws {SyntaxError} when they are no JSON. */
  readonly readTags: () => unknown
}

/** Longest time without a turn for others, milliseconds. */
const SLICE_MS = 4
/** Bytes between two looks at the clock. */
const LOOK_BYTES = 32_768
/** Thrown where the pieces at hand end within a member: no fault, more of them are looked at. */
const MORE = Symbol('more')
/** A string that is a revision, with its quote. */
const REVISION_START = Buffer.from(`"mx.${REVISION}`)
const QUOTE = 0x22
const BACKSLASH = 0x5c
const REVISION_LETTER = 4
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d]
const [COMMA, COLON] = [0x2c, 0x3a]

/**
 * The members of a JSON object, told one after the other, with pauses: the catalog of a large datacenter is megabytes long, and
 * nearly all of it is as it was. Values are told apart by their strings alone.
 *
 * @param chunks its text in pieces: only what is looked at is copied together.
 * @throws {SyntaxError} when it is no JSON object.
 */
export async function scanCatalog(
  chunks: readonly Buffer[],
  tell: (service: ScannedService) => void,
): Promise<void> {
  /** What is looked at: it begins with a whole member or before it. */
  let body = chunks[0] ?? Buffer.alloc(0)
  let next = 1
  let at = 0
  let endMs = performance.now() + SLICE_MS
  let lookAt = LOOK_BYTES
  /** Of the string read last. */
  let first = 0
  let second = 0
  /** Of the value skipped last. */
  let revision = 0

  function skipBlanks(): void {
    while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at++
    if (at >= body.length) throw MORE
  }

  function expect(byte: number): void {
    skipBlanks()
    if (body[at] !== byte) throw new SyntaxError('it answers no catalog')
    at++
  }

  /** FNV-1a, twice. What is looked at again and again is local: the variables around are not kept in registers. */
  function skipString(): void {
    const bytes = body
    const { length } = bytes
    let [a, b] = [0x811c9dc5, 0x1b873593]
    let i = at + 1
    for (; i < length; i++) {
      const byte = bytes[i]!
      if (byte === QUOTE) break
      a = Math.imul(a ^ byte, 0x01000193)
      b = Math.imul(b ^ byte, 0x5bd1e995) ^ (b >>> 15)
      if (byte === BACKSLASH) {
        i++
        a = Math.imul(a ^ bytes[i]!, 0x01000193)
        b = Math.imul(b ^ bytes[i]!, 0x5bd1e995)
      }
    }
    if (i >= length) throw MORE
    at = i + 1
    first = a
    second = b
  }

  function isRevisionAt(start: number): boolean {
    // Seldom more than one byte is looked at: that behind `"mx.`.
    if (body[start + REVISION_LETTER] !== REVISION_START[REVISION_LETTER]) return false
    for (let i = 0; i < REVISION_START.length; i++)
      if (body[start + i] !== REVISION_START[i]) return false
    return true
  }

  function readString(): string {
    skipBlanks()
    const start = at
    if (body[at] !== QUOTE) throw new SyntaxError('it answers no catalog')
    skipString()
    return JSON.parse(body.toString('utf8', start, at)) as string
  }

  function skipValue(): string {
    let depth = 0
    let strings = 0
    let [sum, mixed, others] = [0, 0, 0]
    revision = 0
    for (; at < body.length; ) {
      const byte = body[at]!
      if (byte === QUOTE) {
        const isRevision = isRevisionAt(at)
        skipString()
        if (isRevision) {
          revision = (revision + Math.imul(first, 31) + second) | 0
          continue
        }
        strings++
        sum = (sum + first) | 0
        mixed = (mixed + second) | 0
        continue
      }
      if (depth === 0 && (byte === COMMA || byte === CLOSE)) break
      if (byte === OPEN_LIST || byte === OPEN) depth++
      else if (byte === CLOSE_LIST || byte === CLOSE) depth--
      else if (byte !== COMMA) others = Math.imul(others ^ byte, 0x01000193)
      at++
    }
    if (at >= body.length) throw MORE
    return `${strings} ${sum} ${mixed} ${others}`
  }

  /** @returns whether another member follows. */
  function readMember(): boolean {
    const name = readString()
    expect(COLON)
    skipBlanks()
    const start = at
    const hash = skipValue()
    const end = at
    skipBlanks()
    const isLast = body[at] === CLOSE
    if (!isLast) expect(COMMA)
    tell({ name, hash, revision, readTags: () => JSON.parse(body.toString('utf8', start, end)) })
    return !isLast
  }

  /** Reads what `read` reads from here, with as many pieces as that takes. */
  function withMore<T>(read: () => T): T {
    let start = at
    for (let wanted = 1; ; wanted *= 2) {
      at = start
      try {
        return read()
      } catch (error) {
        if (error !== MORE) throw error
        if (next >= chunks.length) throw createCutOff()
        // Twice as many each time: a member of megabytes is not read anew for every piece of it.
        body = Buffer.concat([body.subarray(start), ...chunks.slice(next, next + wanted)])
        next += wanted
        lookAt -= start
        start = 0
      }
    }
  }

  const isEmpty = withMore(() => {
    expect(OPEN)
    skipBlanks()
    return body[at] === CLOSE
  })
  if (isEmpty) return
  while (withMore(readMember)) {
    if (at < lookAt) continue
    lookAt = at + LOOK_BYTES
    if (performance.now() < endMs) continue
    await turn()
    endMs = performance.now() + SLICE_MS
  }
}

function createCutOff(): SyntaxError {
  return new SyntaxError('its catalog has no end')
}
