import type { TextPattern } from './text-pattern.ts'
import { countColumns } from './wrapped-lines.ts'

/** A message of `Runtime.Logs` (reference 7.1). */
export interface LogMessage {
  /** Unix time in milliseconds. */
  readonly timestamp: number
  /** Keys `instance` and `stream`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
}

export interface LogLine extends LogMessage {
  /** Position among all received lines, starting at 0. */
  readonly number: number
  /** Width of the message in columns of a monospaced font. */
  readonly columns: number
}

export interface LogBufferOptions {
  readonly maxLines: number
  /** Limit for the total length of all lines. The newest line is always retained. */
  readonly maxCharacters: number
}

/** Bounded buffer of the newest log lines, with search. Indexes are relative to the oldest retained line. */
export interface LogBuffer {
  readonly push: (message: LogMessage) => void
  readonly clear: () => void
  /** Number of retained lines. */
  readonly length: () => number
  /** Number of dropped lines. */
  readonly dropped: () => number
  readonly at: (index: number) => LogLine | undefined
  /** Searches the retained lines and then each new line. Undefined stops the search. */
  readonly search: (pattern: TextPattern | undefined) => void
  /** Number of matching retained lines. */
  readonly matches: () => number
  /** Index of the nth match, counted from the oldest. */
  readonly matchAt: (n: number) => number | undefined
  /** Number `n` (see {@link matchAt}) of the first match at or after an index; {@link matches} if no match follows. */
  readonly findMatch: (index: number) => number
}

export function createLogBuffer({ maxLines, maxCharacters }: LogBufferOptions): LogBuffer {
  /** The line with number n is stored at n % maxLines. */
  const ring: (LogLine | undefined)[] = new Array(maxLines)
  let first = 0
  let next = 0
  let characters = 0
  let pattern: TextPattern | undefined
  /** Numbers of the matching lines in ascending order. Entries before `firstMatch` are dropped. */
  let matches: number[] = []
  let firstMatch = 0

  function dropOldest(): void {
    characters -= ring[first % maxLines]!.message.length
    ring[first % maxLines] = undefined
    if (matches[firstMatch] === first) firstMatch++
    first++
    // Compacting for every line would copy the entire list each time.
    if (firstMatch > maxLines) {
      matches = matches.slice(firstMatch)
      firstMatch = 0
    }
  }

  function match(line: LogLine): void {
    if (pattern?.isIn(line.message)) matches.push(line.number)
  }

  return {
    push(message) {
      if (next - first === maxLines) dropOldest()
      const columns = countColumns(message.message)
      const line: LogLine = { ...message, number: next++, columns }
      ring[line.number % maxLines] = line
      characters += line.message.length
      while (characters > maxCharacters && next - first > 1) dropOldest()
      match(line)
    },

    clear() {
      ring.fill(undefined)
      first = 0
      next = 0
      characters = 0
      matches = []
      firstMatch = 0
    },

    length: () => next - first,
    dropped: () => first,
    at: (index) =>
      index < 0 || index >= next - first ? undefined : ring[(first + index) % maxLines],

    search(newPattern) {
      pattern = newPattern
      matches = []
      firstMatch = 0
      if (pattern === undefined) return
      for (let number = first; number < next; number++) match(ring[number % maxLines]!)
    },

    matches: () => matches.length - firstMatch,

    matchAt(n) {
      const number = n < 0 ? undefined : matches[firstMatch + n]
      return number === undefined ? undefined : number - first
    },

    findMatch(index) {
      let low = firstMatch
      let high = matches.length
      while (low < high) {
        const middle = (low + high) >> 1
        if (matches[middle]! < first + index) low = middle + 1
        else high = middle
      }
      return low - firstMatch
    },
  }
}
