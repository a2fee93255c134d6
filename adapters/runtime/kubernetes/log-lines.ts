import { StringDecoder } from 'node:string_decoder'

/** A line of a log as the API server writes it, with its timestamp. */
export interface StampedLine {
  /** Unix time in milliseconds. */
  readonly timestampMs: number
  /** Nanoseconds beyond it. */
  readonly nanos: number
  readonly text: string
}

/** How far a log was read. */
export interface Position {
  readonly timestampMs: number
  readonly nanos: number
  /** Lines with this very timestamp that were read. */
  readonly count: number
}

/** Longest text that is told as one line, in characters. */
const MAX_LINE = 65_536
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d) ?/

/** The lines of an answer with `timestamps=true`; longer ones in parts, each with the timestamp of the first. */
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

/** Order of time. */
export function compareStamps(
  a: Pick<StampedLine, 'timestampMs' | 'nanos'>,
  b: Pick<StampedLine, 'timestampMs' | 'nanos'>,
): number {
  return a.timestampMs - b.timestampMs || a.nanos - b.nanos
}

/** The position after one more line. */
export function advance(position: Position | undefined, line: StampedLine): Position {
  const { timestampMs, nanos } = line
  const isSame = position !== undefined && compareStamps(position, line) === 0
  return { timestampMs, nanos, count: isSame ? position.count + 1 : 1 }
}

/** Whether a line lies behind a position, for the lines of a log in their order: those before are passed over. */
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

/** A text without a timestamp goes on with the line before. */
function toStampedLine(text: string, last: StampedLine): StampedLine {
  const stamp = STAMP.exec(text)
  if (stamp === null) return { ...last, text }
  const nanos = Number((stamp[1] ?? '').padEnd(9, '0').slice(3, 9))
  return { timestampMs: Date.parse(stamp[0].trimEnd()), nanos, text: text.slice(stamp[0].length) }
}
