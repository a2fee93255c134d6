/** Turns what a program writes into lines. */
export interface LineSplitter {
  /** Takes what came; the lines it ended, without their ends. Bytes that are no UTF-8 are U+FFFD. */
  readonly push: (chunk: Buffer) => readonly string[]
  /** The rest, where it has no end: nothing comes any more. */
  readonly end: () => readonly string[]
}

const LINE_FEED = 0x0a
const NOTHING = Buffer.alloc(0)
/** Bytes of a character that are not its first, in UTF-8. */
const CONTINUES = 0x80
const CONTINUES_MASK = 0xc0
const CHARACTER_BYTES = 4
/** Of a unit of UTF-16, at most. */
const UNIT_BYTES = 3

/** @param maxBytes of a line: one that is longer comes in parts, cut between characters. */
export function createLineSplitter(maxBytes: number): LineSplitter {
  let rest: Buffer = NOTHING

  return {
    push(chunk) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      const end = bytes.lastIndexOf(LINE_FEED) + 1
      const cut = end === 0 ? [] : toLines(bytes.toString('utf8', 0, end - 1), maxBytes)
      let from = end
      for (; bytes.length - from > maxBytes; from = cutBefore(bytes, from + maxBytes))
        cut.push(bytes.toString('utf8', from, cutBefore(bytes, from + maxBytes)))
      // Its chunk would stay in memory for the sake of a few bytes.
      rest = Buffer.from(bytes.subarray(from))
      return cut
    },
    end() {
      const line = rest.toString('utf8')
      rest = NOTHING
      return line === '' ? [] : [line]
    },
  }
}

/** There may be tens of thousands: mostly they are as they should be, and nothing is done for each. */
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
    const to = bytes.length - from > maxBytes ? cutBefore(bytes, from + maxBytes) : bytes.length
    parts.push(bytes.toString('utf8', from, to))
    from = to
  }
  return parts
}

/** The start of the character at `at`; bytes that are no UTF-8 may be cut anywhere. */
function cutBefore(bytes: Buffer, at: number): number {
  for (let start = at; start > at - CHARACTER_BYTES; start--)
    if ((bytes[start]! & CONTINUES_MASK) !== CONTINUES) return start
  return at
}
