import type { TextPattern } from './text-pattern.ts'
import { countColumns } from './wrapped-lines.ts'

/** A line of a log as the service `runtime` tells it (reference 7.1). */
export interface LogMessage {
  /** Unix time in milliseconds. */
  readonly timestamp: number
  /** `instance` and `stream`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
}

/** A line that is kept. */
export interface LogLine extends LogMessage {
  /** Its place among all that came, from 0. */
  readonly number: number
  /** Columns of the message in a monospaced font. */
  readonly columns: number
}

export interface LogBufferOptions {
  /** Most lines that are kept. */
  readonly maxLines: number
  /** Most characters of those lines; one line is kept whatever its length. */
  readonly maxCharacters: number
}

/** The newest lines of a log, and which of them have what is searched for. Older ones make room. */
export interface LogBuffer {
  readonly push: (message: LogMessage) => void
  readonly clear: () => void
  /** Lines that are kept. */
  readonly length: () => number
  /** Lines that made room for newer ones. */
  readonly dropped: () => number
  /** @param index from the oldest that is kept. */
  readonly at: (index: number) => LogLine | undefined
  /** Searches all that is kept, and then each line that comes; undefined: nothing is searched for. */
  readonly search: (pattern: TextPattern | undefined) => void
  /** How many of the lines that are kept match. */
  readonly matches: () => number
  /** Index of a line that matches. @param n from the oldest match. */
  readonly matchAt: (n: number) => number | undefined
  /** The first match at or behind an index, as `n` of {@link matchAt}; {@link matches} where there is none. */
  readonly findMatch: (index: number) => number
}

export function createLogBuffer({ maxLines, maxCharacters }: LogBufferOptions): LogBuffer {
  /** A ring: the line with number n is at n % maxLines. */
  const ring: (LogLine | undefined)[] = new Array(maxLines)
  let first = 0
  let next = 0
  let characters = 0
  let wanted: TextPattern | undefined
  /** Numbers of the lines that match, in order; those before `firstMatch` are gone. */
  let found: number[] = []
  let firstMatch = 0

  function dropOldest(): void {
    characters -= ring[first % maxLines]!.message.length
    ring[first % maxLines] = undefined
    if (found[firstMatch] === first) firstMatch++
    first++
    // Shortened now and then: each time would copy all of it for every line.
    if (firstMatch > maxLines) {
      found = found.slice(firstMatch)
      firstMatch = 0
    }
  }

  function note(line: LogLine): void {
    if (wanted?.isIn(line.message)) found.push(line.number)
  }

  return {
    push(message) {
      if (next - first === maxLines) dropOldest()
      const columns = countColumns(message.message)
      const line: LogLine = { ...message, number: next++, columns }
      ring[line.number % maxLines] = line
      characters += line.message.length
      while (characters > maxCharacters && next - first > 1) dropOldest()
      note(line)
    },

    clear() {
      ring.fill(undefined)
      first = 0
      next = 0
      characters = 0
      found = []
      firstMatch = 0
    },

    length: () => next - first,
    dropped: () => first,
    at: (index) =>
      index < 0 || index >= next - first ? undefined : ring[(first + index) % maxLines],

    search(pattern) {
      wanted = pattern
      found = []
      firstMatch = 0
      if (pattern === undefined) return
      for (let number = first; number < next; number++) note(ring[number % maxLines]!)
    },

    matches: () => found.length - firstMatch,

    matchAt(n) {
      const number = n < 0 ? undefined : found[firstMatch + n]
      return number === undefined ? undefined : number - first
    },

    findMatch(index) {
      let low = firstMatch
      let high = found.length
      while (low < high) {
        const middle = (low + high) >> 1
        if (found[middle]! < first + index) low = middle + 1
        else high = middle
      }
      return low - firstMatch
    },
  }
}
