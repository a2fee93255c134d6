import { setImmediate as turn } from 'node:timers/promises'
import { REVISION } from './tags.ts'

/** A catalog entry with unparsed tags. */
export interface ScannedService {
  readonly name: string
  /** Hash of the descriptive tags, independent of their order. */
  readonly hash: string
  /** Hash of the revision tags, which change with the nodes. */
  readonly revision: number
  /** Parses the tags. @throws {SyntaxError} for malformed JSON. */
  readonly readTags: () => unknown
}

/** Maximum time in milliseconds without yielding to the event loop. */
const SLICE_MS = 4
/** Bytes between two reads of the clock. */
const CHECK_BYTES = 32_768
/** Thrown internally if the buffered chunks end within a member. */
const MORE = Symbol('more')
/** Prefix of a revision tag with its quote. */
const REVISION_START = Buffer.from(`"mx.${REVISION}`)
const QUOTE = 0x22
const BACKSLASH = 0x5c
const REVISION_LETTER = 4
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d]
const [COMMA, COLON] = [0x2c, 0x3a]

/**
 * Reads the members of a JSON object one by one and yields in between. The catalog of a large
 * datacenter has megabytes, of which very little changes. Values are compared only by the hashes of
 * their strings.
 *
 * @param chunks text in chunks, of which only the current ones are concatenated.
 * @throws {SyntaxError} if the text is not a JSON object.
 */
export async function scanCatalog(
  chunks: readonly Buffer[],
  onService: (service: ScannedService) => void,
): Promise<void> {
  /** Buffered text; starts at or before the current member. */
  let body = chunks[0] ?? Buffer.alloc(0)
  let next = 1
  let at = 0
  let endMs = performance.now() + SLICE_MS
  let checkAt = CHECK_BYTES
  /** Hashes of the last string. */
  let first = 0
  let second = 0
  /** Hash of the revision tags in the last skipped value. */
  let revision = 0

  function skipBlanks(): void {
    while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at++
    if (at >= body.length) throw MORE
  }

  function expect(byte: number): void {
    skipBlanks()
    if (body[at] !== byte) throw new SyntaxError('it did not return a catalog')
    at++
  }

  /**
   * Computes two FNV-1a hashes. The loop uses local variables, because captured variables are not
   * stored in registers.
   */
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
    // The byte after `"mx.` is usually sufficient.
    if (body[start + REVISION_LETTER] !== REVISION_START[REVISION_LETTER]) return false
    for (let i = 0; i < REVISION_START.length; i++)
      if (body[start + i] !== REVISION_START[i]) return false
    return true
  }

  function readString(): string {
    skipBlanks()
    const start = at
    if (body[at] !== QUOTE) throw new SyntaxError('it did not return a catalog')
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
    onService({
      name,
      hash,
      revision,
      readTags: () => JSON.parse(body.toString('utf8', start, end)),
    })
    return !isLast
  }

  /** Runs `read` at the current position with as many chunks as it needs. */
  function withMore<T>(read: () => T): T {
    let start = at
    for (let pieces = 1; ; pieces *= 2) {
      at = start
      try {
        return read()
      } catch (error) {
        if (error !== MORE) throw error
        if (next >= chunks.length) throw createTruncatedError()
        // The size doubles each time, so that a member of several megabytes is not scanned again
        // for each chunk.
        body = Buffer.concat([body.subarray(start), ...chunks.slice(next, next + pieces)])
        next += pieces
        checkAt -= start
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
    if (at < checkAt) continue
    checkAt = at + CHECK_BYTES
    if (performance.now() < endMs) continue
    await turn()
    endMs = performance.now() + SLICE_MS
  }
}

function createTruncatedError(): SyntaxError {
  return new SyntaxError('its catalog is truncated')
}
