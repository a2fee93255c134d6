/** Turns what a program writes into lines. */
export interface LineSplitter {
  /** Takes what came; returns how many lines it ended. */
  readonly push: (chunk: Buffer) => number
  /** Tells the rest: nothing comes any more. */
  readonly end: () => void
}

const LINE_FEED = 0x0a
const RETURN = 0x0d
/** Bytes of a character that are not its first, in UTF-8. */
const CONTINUES = 0x80
const CONTINUES_MASK = 0xc0
const NOTHING = Buffer.alloc(0)

/**
 * @param maxBytes of a line: one that is longer is told in parts, cut between characters.
 * @param onLine without the line's end; bytes that are no UTF-8 are U+FFFD.
 */
export function createLineSplitter(maxBytes: number, onLine: (text: string) => void): LineSplitter {
  let rest: Buffer = NOTHING
  let lines = 0

  const tell = (line: Buffer) => {
    lines++
    onLine(line.toString('utf8'))
  }
  const tellParts = (bytes: Buffer): Buffer => {
    let left = bytes
    while (left.length > maxBytes) {
      const at = toCut(left, maxBytes)
      tell(left.subarray(0, at))
      left = left.subarray(at)
    }
    return left
  }
  return {
    push(chunk) {
      lines = 0
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let from = 0
      for (
        let at = bytes.indexOf(LINE_FEED, rest.length);
        at !== -1;
        at = bytes.indexOf(LINE_FEED, from)
      ) {
        const end = at > from && bytes[at - 1] === RETURN ? at - 1 : at
        tell(tellParts(bytes.subarray(from, end)))
        from = at + 1
      }
      rest = tellParts(bytes.subarray(from))
      // Its chunk would stay in memory for the sake of a few bytes.
      if (rest.length > 0) rest = Buffer.from(rest)
      return lines
    },
    end() {
      if (rest.length > 0) tell(rest)
      rest = NOTHING
    },
  }
}

/** Where to cut, at most at `max`: not within a character. */
function toCut(bytes: Buffer, max: number): number {
  let at = max
  while (at > max - 4 && (bytes[at]! & CONTINUES_MASK) === CONTINUES) at--
  return at > max - 4 ? at : max
}
