/** Splits the output of a program into lines. */
export interface LineSplitter {
  /** Adds a chunk and returns the completed lines without line breaks. Invalid UTF-8 becomes U+FFFD. */
  readonly push: (chunk: Buffer) => readonly string[]
  /** Returns the last line if it is not terminated. */
  readonly end: () => readonly string[]
}

const LINE_FEED = 0x0a
const EMPTY = Buffer.alloc(0)
/** Continuation bytes of UTF-8. */
const CONTINUES = 0x80
const CONTINUES_MASK = 0xc0
const CHARACTER_BYTES = 4
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const UNIT_BYTES = 3

/** @param maxBytes maximum line length; longer lines are split between characters. */
export function createLineSplitter(maxBytes: number): LineSplitter {
  let rest: Buffer = EMPTY

  return {
    push(chunk) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      const end = bytes.lastIndexOf(LINE_FEED) + 1
      const completed = end === 0 ? [] : toLines(bytes.toString('utf8', 0, end - 1), maxBytes)
      let from = end
      for (; bytes.length - from > maxBytes; from = findCharacterStart(bytes, from + maxBytes))
        completed.push(bytes.toString('utf8', from, findCharacterStart(bytes, from + maxBytes)))
      // Copied because a view would keep the whole chunk in memory.
      rest = Buffer.from(bytes.subarray(from))
      return completed
    },
    end() {
      const line = rest.toString('utf8')
      rest = EMPTY
      return line === '' ? [] : [line]
    },
  }
}

/** Fast path for tens of thousands of short lines, without work per line. */
function toLines(text: string, maxBytes: number): string[] {
  const lines = text.split('\n')
  const isShort = (line: string) => line.length * UNIT_BYTES <= maxBytes
  if (!text.includes('\r') && lines.every(isShort)) return lines
  return lines.flatMap((line) => {
    const bare = line.endsWith('\r') ? line.slice(0, -1) : line
    return isShort(bare) ? bare : toParts(bare, maxBytes)
  })
}

function toParts(text: string, maxBytes: number): string[] {
  const bytes = Buffer.from(text)
  const parts: string[] = []
  for (let from = 0; from < bytes.length; ) {
    const to =
      bytes.length - from > maxBytes ? findCharacterStart(bytes, from + maxBytes) : bytes.length
    parts.push(bytes.toString('utf8', from, to))
    from = to
  }
  return parts
}

/** Returns the start of the character at `at`. Invalid UTF-8 may be split anywhere. */
function findCharacterStart(bytes: Buffer, at: number): number {
  for (let start = at; start > at - CHARACTER_BYTES; start--)
    if ((bytes[start]! & CONTINUES_MASK) !== CONTINUES) return start
  return at
}
