import type { JSX } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatClock } from '../components/time/format-time.ts'
import type { LogBuffer, LogLine } from './log-buffer.ts'
import type { TextPattern } from './text-pattern.ts'
import { countRows, findLine, layOut } from './wrapped-lines.ts'

export interface LogLinesProps {
  readonly buffer: LogBuffer
  /** How many lines came so far: what is drawn anew when it changes. */
  readonly total: number
  readonly pattern: TextPattern | undefined
  /** Leaves out lines that do not match. */
  readonly isFiltered: boolean
  /** Number of the line that is brought into view. */
  readonly current: number | undefined
  /** Whether the newest line stays in view. */
  readonly follows: boolean
  readonly onFollows: (follows: boolean) => void
  /** Told of a line somebody wants to see all of. */
  readonly onOpen: (line: LogLine) => void
}

/** Height of a row; `.log-line` has the same. Lines break into rows. */
const ROW_PX = 20
/** Lines above and below those in view, so that scrolling finds them there. */
const AROUND = 12
/** Longer lines are cut: a browser lays out all of a line, in view or not. */
const SHOWN_CHARACTERS = 1000
/** Columns of the button beside a line that is cut. */
const MORE_COLUMNS = 12
/** Characters in the time and the stream, and pixels between them: `.log-line`. */
const MARGIN_COLUMNS = '14:03:09.120'.length + 'stdout'.length
const MARGIN_PX = 48
/** Text by which the width of a character is measured. */
const RULER = 'x'.repeat(100)

/** The lines of a buffer, of which those in view are in the page. */
export function LogLines(props: LogLinesProps): JSX.Element {
  const { buffer, total, pattern, isFiltered, current, follows, onFollows, onOpen } = props
  const box = useRef<HTMLElement>(null)
  const lastTop = useRef(0)
  /** What stands at the upper edge of the view. */
  const place = useRef({ number: 0, offset: 0 })
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(0)
  const ruler = useRef<HTMLSpanElement>(null)
  const [columns, setColumns] = useState(0)

  const count = isFiltered ? buffer.matches() : buffer.length()
  const dropped = buffer.dropped()
  const toIndex = (row: number): number => (isFiltered ? (buffer.matchAt(row) ?? -1) : row)
  const toLine = (number: number): number => {
    const index = Math.max(0, number - dropped)
    return isFiltered ? buffer.findMatch(index) : index
  }
  const firstRows = useMemo(
    () => layOut(count, (i) => toRows(buffer.at(toIndex(i)), columns)),
    [buffer, total, count, isFiltered, pattern, columns],
  )
  const toPx = (line: number): number => firstRows[Math.min(line, count)]! * ROW_PX
  const first = Math.max(0, findLine(firstRows, Math.floor(top / ROW_PX)) - AROUND)
  const end = Math.min(count, findLine(firstRows, Math.ceil((top + height) / ROW_PX)) + 1 + AROUND)
  const lines: LogLine[] = []
  for (let i = first; i < end; i++) {
    const line = buffer.at(toIndex(i))
    if (line !== undefined) lines.push(line)
  }

  function note(scrollTop: number): void {
    lastTop.current = scrollTop
    const index = findLine(firstRows, Math.floor(scrollTop / ROW_PX))
    const line = lines[index - first] ?? buffer.at(toIndex(index))
    if (line !== undefined) place.current = { number: line.number, offset: scrollTop - toPx(index) }
    setTop(scrollTop)
  }

  function scrollTo(wanted: number): void {
    const element = box.current!
    element.scrollTop = wanted
    // As far as it went.
    note(element.scrollTop)
  }

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      const { clientHeight, clientWidth } = box.current!
      const characterPx = ruler.current!.getBoundingClientRect().width / RULER.length
      setHeight(clientHeight)
      setColumns(Math.floor((clientWidth - MARGIN_PX) / characterPx) - MARGIN_COLUMNS)
    })
    observer.observe(box.current!)
    // Text is as large as readers wish.
    observer.observe(ruler.current!)
    return () => observer.disconnect()
  }, [])

  // Lines that come, and those that make room for them, move nothing of what somebody reads.
  useLayoutEffect(() => {
    const { number, offset } = place.current
    scrollTo(follows ? toPx(count) : toPx(toLine(number)) + offset)
  }, [follows, count, dropped, isFiltered, height, columns])

  useLayoutEffect(() => {
    if (current !== undefined) scrollTo(toPx(toLine(current)) - height / 2)
  }, [current])

  function onScroll(): void {
    // Browsers tell of it in the next frame: the page may be left by then.
    if (box.current === null) return
    const { scrollTop, scrollHeight, clientHeight } = box.current
    const before = lastTop.current
    note(scrollTop)
    // However little: browsers scroll in small steps.
    if (scrollTop < before) onFollows(false)
    else if (scrollTop + clientHeight >= scrollHeight - ROW_PX) onFollows(true)
  }

  return (
    <section
      class="log-lines"
      ref={box}
      onScroll={onScroll}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      aria-label="Lines of the log"
    >
      <span class="log-ruler" ref={ruler} aria-hidden="true">
        {RULER}
      </span>
      <div class="log-room" style={{ height: `${toPx(count)}px` }}>
        <div class="log-window" style={{ transform: `translateY(${toPx(first)}px)` }}>
          {lines.map((line) => (
            <Line
              key={line.number}
              line={line}
              rows={toRows(line, columns)}
              pattern={pattern}
              isCurrent={line.number === current}
              onOpen={onOpen}
            />
          ))}
        </div>
      </div>
    </section>
  )
}

function toRows(line: LogLine | undefined, columns: number): number {
  if (line === undefined) return 1
  return line.message.length <= SHOWN_CHARACTERS
    ? countRows(line.columns, columns)
    : countRows((line.columns * SHOWN_CHARACTERS) / line.message.length, columns - MORE_COLUMNS)
}

interface LineProps {
  readonly line: LogLine
  /** Its height. */
  readonly rows: number
  readonly pattern: TextPattern | undefined
  readonly isCurrent: boolean
  readonly onOpen: (line: LogLine) => void
}

function Line({ line, rows, pattern, isCurrent, onOpen }: LineProps): JSX.Element {
  const { message, timestamp, metadata } = line
  const shown = message.slice(0, SHOWN_CHARACTERS)
  const left = message.length - shown.length
  return (
    <div
      class={isCurrent ? 'log-line is-current' : 'log-line'}
      style={{ height: `${rows * ROW_PX}px` }}
    >
      <time title={new Date(timestamp).toISOString()}>{formatClock(timestamp)}</time>
      <span class="log-stream" title={`instance ${metadata['instance'] ?? ''}`}>
        {metadata['stream']}
      </span>
      {left > 0 && (
        <button
          type="button"
          class="log-more"
          aria-label={`All of the line, ${left} characters more`}
          onClick={() => onOpen(line)}
        >
          +{left}
        </button>
      )}
      <span class="log-text">
        {pattern === undefined
          ? shown
          : pattern
              .split(shown)
              .map((piece, i) => (i % 2 === 1 ? <mark key={i}>{piece}</mark> : piece))}
      </span>
    </div>
  )
}
