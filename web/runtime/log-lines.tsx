import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatClock } from './format-clock.ts'
import type { LogBuffer, LogLine } from './log-buffer.ts'
import type { TextPattern } from './text-pattern.ts'

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

/** Height of a line; `.log-line` has the same. */
const LINE_PX = 20
/** Lines above and below those in view, so that scrolling finds them there. */
const AROUND = 12
/** Longer lines are cut: a browser lays out all of a line, in view or not. */
const SHOWN_CHARACTERS = 1000

/** The lines of a buffer, of which those in view are in the page. */
export function LogLines(props: LogLinesProps): JSX.Element {
  const { buffer, pattern, isFiltered, current, follows, onFollows, onOpen } = props
  const box = useRef<HTMLElement>(null)
  const lastTop = useRef(0)
  /** What stands at the upper edge of the view. */
  const place = useRef({ number: 0, offset: 0 })
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(0)

  const count = isFiltered ? buffer.matches() : buffer.length()
  const dropped = buffer.dropped()
  const toIndex = (row: number): number => (isFiltered ? (buffer.matchAt(row) ?? -1) : row)
  const toRow = (number: number): number => {
    const index = Math.max(0, number - dropped)
    return isFiltered ? buffer.findMatch(index) : index
  }
  const first = Math.max(0, Math.floor(top / LINE_PX) - AROUND)
  const end = Math.min(count, Math.ceil((top + height) / LINE_PX) + AROUND)
  const lines: LogLine[] = []
  for (let row = first; row < end; row++) {
    const line = buffer.at(toIndex(row))
    if (line !== undefined) lines.push(line)
  }

  function note(scrollTop: number): void {
    lastTop.current = scrollTop
    const row = Math.floor(scrollTop / LINE_PX)
    const line = lines[row - first] ?? buffer.at(toIndex(row))
    if (line !== undefined)
      place.current = { number: line.number, offset: scrollTop - row * LINE_PX }
    setTop(scrollTop)
  }

  function scrollTo(wanted: number): void {
    const element = box.current!
    element.scrollTop = wanted
    // As far as it went.
    note(element.scrollTop)
  }

  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setHeight(entry!.contentRect.height))
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])

  // Lines that come, and those that make room for them, move nothing of what somebody reads.
  useLayoutEffect(() => {
    const { number, offset } = place.current
    scrollTo(follows ? count * LINE_PX : toRow(number) * LINE_PX + offset)
  }, [follows, count, dropped, isFiltered, height])

  useLayoutEffect(() => {
    if (current !== undefined) scrollTo(toRow(current) * LINE_PX - height / 2)
  }, [current])

  function onScroll(): void {
    // Browsers tell of it in the next frame: the page may be left by then.
    if (box.current === null) return
    const { scrollTop, scrollHeight, clientHeight } = box.current
    const before = lastTop.current
    note(scrollTop)
    // However little: browsers scroll in small steps.
    if (scrollTop < before) onFollows(false)
    else if (scrollTop + clientHeight >= scrollHeight - LINE_PX) onFollows(true)
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
      <div class="log-room" style={{ height: `${count * LINE_PX}px` }}>
        <div class="log-window" style={{ transform: `translateY(${first * LINE_PX}px)` }}>
          {lines.map((line) => (
            <Line
              key={line.number}
              line={line}
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

interface LineProps {
  readonly line: LogLine
  readonly pattern: TextPattern | undefined
  readonly isCurrent: boolean
  readonly onOpen: (line: LogLine) => void
}

function Line({ line, pattern, isCurrent, onOpen }: LineProps): JSX.Element {
  const { message, timestamp, metadata } = line
  const shown = message.slice(0, SHOWN_CHARACTERS)
  const left = message.length - shown.length
  return (
    <div class={isCurrent ? 'log-line is-current' : 'log-line'}>
      <time title={new Date(timestamp).toISOString()}>{formatClock(timestamp)}</time>
      <span class="log-stream" title={`copy ${metadata['instance'] ?? ''}`}>
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
