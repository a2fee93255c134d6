import type { JSX } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatClock } from '../components/time/format-time.ts'
import type { LogBuffer, LogLine } from './log-buffer.ts'
import type { TextPattern } from './text-pattern.ts'
import { countRows, findLine, layOut } from './wrapped-lines.ts'

export interface LogLinesProps {
  readonly buffer: LogBuffer
  /** Number of received lines; a change triggers rendering. */
  readonly total: number
  readonly pattern: TextPattern | undefined
  /** True to hide lines that do not match. */
  readonly isFiltered: boolean
  /** Number of the line to scroll to. */
  readonly current: number | undefined
  /** True if the view follows the newest line. */
  readonly follows: boolean
  readonly onFollows: (follows: boolean) => void
  /** Called when a truncated line is opened. */
  readonly onOpen: (line: LogLine) => void
}

/** Row height in pixels, as in `.log-line`. Lines wrap into rows. */
const ROW_PX = 20
/** Number of extra lines rendered above and below the viewport. */
const OVERSCAN = 12
/** Longer lines are truncated, because a browser lays out the entire line even if it is not visible. */
const MAX_CHARACTERS = 1000
/** Width of the button of a truncated line, in columns. */
const MORE_COLUMNS = 12
/** Columns for time and stream, and pixels between them, as in `.log-line`. */
const MARGIN_COLUMNS = '14:03:09.120'.length + 'stdout'.length
const MARGIN_PX = 48
/** Text for measuring the width of a character. */
const RULER = 'x'.repeat(100)

/** Virtualized view of a log buffer. */
export function LogLines(props: LogLinesProps): JSX.Element {
  const { buffer, total, pattern, isFiltered, current, follows, onFollows, onOpen } = props
  const box = useRef<HTMLElement>(null)
  const lastTop = useRef(0)
  /** Line at the top edge, used to preserve the scroll position. */
  const anchor = useRef({ number: 0, offset: 0 })
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
  const first = Math.max(0, findLine(firstRows, Math.floor(top / ROW_PX)) - OVERSCAN)
  const end = Math.min(
    count,
    findLine(firstRows, Math.ceil((top + height) / ROW_PX)) + 1 + OVERSCAN,
  )
  const lines: LogLine[] = []
  for (let i = first; i < end; i++) {
    const line = buffer.at(toIndex(i))
    if (line !== undefined) lines.push(line)
  }

  function trackScroll(scrollTop: number): void {
    lastTop.current = scrollTop
    const index = findLine(firstRows, Math.floor(scrollTop / ROW_PX))
    const line = lines[index - first] ?? buffer.at(toIndex(index))
    if (line !== undefined)
      anchor.current = { number: line.number, offset: scrollTop - toPx(index) }
    setTop(scrollTop)
  }

  function scrollTo(target: number): void {
    const element = box.current!
    element.scrollTop = target
    // The browser may have clamped the value.
    trackScroll(element.scrollTop)
  }

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      const { clientHeight, clientWidth } = box.current!
      const characterPx = ruler.current!.getBoundingClientRect().width / RULER.length
      setHeight(clientHeight)
      setColumns(Math.floor((clientWidth - MARGIN_PX) / characterPx) - MARGIN_COLUMNS)
    })
    observer.observe(box.current!)
    // Users can change the text size.
    observer.observe(ruler.current!)
    return () => observer.disconnect()
  }, [])

  // New and dropped lines must not move the visible text.
  useLayoutEffect(() => {
    const { number, offset } = anchor.current
    scrollTo(follows ? toPx(count) : toPx(toLine(number)) + offset)
  }, [follows, count, dropped, isFiltered, height, columns])

  useLayoutEffect(() => {
    if (current !== undefined) scrollTo(toPx(toLine(current)) - height / 2)
  }, [current])

  function onScroll(): void {
    // Scroll events fire in the next frame, which may be after unmount.
    if (box.current === null) return
    const { scrollTop, scrollHeight, clientHeight } = box.current
    const before = lastTop.current
    trackScroll(scrollTop)
    // Without a threshold, because smooth scrolling moves in small steps.
    if (scrollTop < before) onFollows(false)
    else if (scrollTop + clientHeight >= scrollHeight - ROW_PX) onFollows(true)
  }

  return (
    <section
      class="log-lines"
      ref={box}
      onScroll={onScroll}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1)
      tabIndex={0}
      aria-label="Log lines"
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
  return line.message.length <= MAX_CHARACTERS
    ? countRows(line.columns, columns)
    : countRows((line.columns * MAX_CHARACTERS) / line.message.length, columns - MORE_COLUMNS)
}

interface LineProps {
  readonly line: LogLine
  readonly rows: number
  readonly pattern: TextPattern | undefined
  readonly isCurrent: boolean
  readonly onOpen: (line: LogLine) => void
}

function Line({ line, rows, pattern, isCurrent, onOpen }: LineProps): JSX.Element {
  const { message, timestamp, metadata } = line
  const text = message.slice(0, MAX_CHARACTERS)
  const hidden = message.length - text.length
  return (
    <div
      class={isCurrent ? 'log-line is-current' : 'log-line'}
      style={{ height: `${rows * ROW_PX}px` }}
    >
      <time title={new Date(timestamp).toISOString()}>{formatClock(timestamp)}</time>
      <span class="log-stream" title={`instance ${metadata['instance'] ?? ''}`}>
        {metadata['stream']}
      </span>
      {hidden > 0 && (
        <button
          type="button"
          class="log-more"
          aria-label={`Show full line (${hidden} more characters)`}
          onClick={() => onOpen(line)}
        >
          +{hidden}
        </button>
      )}
      <span class="log-text">
        {pattern === undefined
          ? text
          : pattern
              .split(text)
              .map((piece, i) => (i % 2 === 1 ? <mark key={i}>{piece}</mark> : piece))}
      </span>
    </div>
  )
}
