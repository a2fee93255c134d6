import { StringDecoder } from 'node:string_decoder'

/** A log line from the API server with its timestamp. */
export interface StampedLine {
  /** Unix time in milliseconds. */
  readonly timestampMs: number
  /** Nanoseconds within the millisecond. */
  readonly nanos: number
  readonly text: string
}

/** Read position in a log. */
export interface Position {
  readonly timestampMs: number
  readonly nanos: number
  /** Number of lines read with this timestamp. */
  readonly count: number
}

/** Maximum length of a line in characters. */
const MAX_LINE = 65_536
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d) ?/

/**
 * Reads the lines of a response with `timestamps=true`. Overlong lines are split into parts with
 * the same timestamp.
 */
export async function* readStampedLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly StampedLine[]> {
  let last: StampedLine = { timestampMs: 0, nanos: 0, text: '' }
  for await (const texts of splitLines(chunks))
    yield texts.map((text) => {
      last = toStampedLine(text, last)
      return last
    })
}

/** Compares lines by time. */
export function compareStamps(
  a: Pick<StampedLine, 'timestampMs' | 'nanos'>,
  b: Pick<StampedLine, 'timestampMs' | 'nanos'>,
): number {
  return a.timestampMs - b.timestampMs || a.nanos - b.nanos
}

/** Returns the position after another line. */
export function advance(position: Position | undefined, line: StampedLine): Position {
  const { timestampMs, nanos } = line
  const isSame = position !== undefined && compareStamps(position, line) === 0
  return { timestampMs, nanos, count: isSame ? position.count + 1 : 1 }
}

/**
 * Creates a filter that drops the lines of a log up to a position. Lines must be passed in order.
 */
export function createFilter(position: Position | undefined): (line: StampedLine) => boolean {
  let passed = 0
  return (line) => {
    const order = position === undefined ? 1 : compareStamps(line, position)
    return order > 0 || (order === 0 && ++passed > (position?.count ?? 0))
  }
}

async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new StringDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.write(Buffer.from(chunk))).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE) {
      lines.push(rest)
      rest = ''
    }
    if (lines.length > 0) yield lines
  }
  rest += decoder.end()
  if (rest !== '') yield [rest]
}

/** A text without a timestamp continues the previous line. */
function toStampedLine(text: string, last: StampedLine): StampedLine {
  const stamp = STAMP.exec(text)
  if (stamp === null) return { ...last, text }
  const nanos = Number((stamp[1] ?? '').padEnd(9, '0').slice(3, 9))
  return { timestampMs: Date.parse(stamp[0].trimEnd()), nanos, text: text.slice(stamp[0].length) }
}
