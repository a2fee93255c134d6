import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { createLogPosition } from '../../sdk/runtime/log-cursor.ts'
import { Problem } from '../components/problem.tsx'
import { useAnimationFrame } from '../hooks/use-animation-frame.ts'
import { useWatch } from '../hooks/use-call.ts'
import { openStream } from '../rpc/caller.ts'
import { createLogBuffer, type LogLine, type LogMessage } from './log-buffer.ts'
import { LogLines } from './log-lines.tsx'
import { toDisplayLine } from './log-text.ts'
import { saveLog } from './save-log.ts'
import { createTextPattern } from './text-pattern.ts'

/** Limits of the retained lines. */
const LIMITS = { maxLines: 10_000, maxCharacters: 8_000_000 }

/** Live log of a runtime object, with search. */
export function LogView({ name, version }: { name: string; version: string }): JSX.Element {
  const buffer = useRef(createLogBuffer(LIMITS)).current
  const position = useRef(createLogPosition({ count: LIMITS.maxLines, since: 0 })).current
  const [follows, setFollows] = useState(true)
  const [search, setSearch] = useState('')
  const [isFiltered, setFiltered] = useState(false)
  const [current, setCurrent] = useState<number>()
  const [opened, setOpened] = useState<LogLine>()
  const refresh = useAnimationFrame()

  const watch = useWatch<LogMessage>(
    () =>
      openStream('runtime', 'Runtime.Logs', {
        ...{ service: name, version, stream: true },
        ...position.toRequest(),
      }),
    (message) => {
      if (!position.isNew(message)) return
      buffer.push({ ...message, message: toDisplayLine(message.message) })
      refresh()
    },
    [name, version],
  )

  const pattern = createTextPattern(search)
  const currentMatch = current === undefined ? -1 : buffer.findMatch(current - buffer.dropped())

  function changeSearch(text: string): void {
    setSearch(text)
    setCurrent(undefined)
    buffer.search(createTextPattern(text))
  }

  /** Moves to the next or previous match, wrapping around. */
  function step(by: 1 | -1): void {
    const count = buffer.matches()
    if (count === 0) return
    const from = current === undefined ? (by === 1 ? -1 : count) : currentMatch
    const index = buffer.matchAt((from + by + count) % count)!
    setFollows(false)
    setCurrent(buffer.at(index)!.number)
  }

  const problem = watch.error !== undefined && watch.state === 'failed' && (
    <Problem error={watch.error} subject={`log of ${name}`} onRetry={watch.restart} />
  )
  if (problem && buffer.length() === 0) return problem
  return (
    <div class="log-view">
      <search class="log-tools">
        <input
          type="search"
          aria-label="Search log"
          placeholder="Search log"
          value={search}
          onInput={(event) => changeSearch(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') step(event.shiftKey ? -1 : 1)
          }}
        />
        <button type="button" disabled={buffer.matches() === 0} onClick={() => step(-1)}>
          Previous
        </button>
        <button type="button" disabled={buffer.matches() === 0} onClick={() => step(1)}>
          Next
        </button>
        <span role="status">
          {pattern !== undefined && describeMatches(currentMatch, buffer.matches())}
        </span>
        <label class="check">
          <input
            type="checkbox"
            checked={isFiltered}
            onChange={(event) => setFiltered(event.currentTarget.checked)}
          />
          Matching lines only
        </label>
        <button type="button" aria-pressed={follows} onClick={() => setFollows(!follows)}>
          Follow
        </button>
        <button
          type="button"
          disabled={buffer.length() === 0}
          onClick={() => saveLog(name, buffer)}
        >
          Download
        </button>
      </search>
      {problem}
      <LogLines
        {...{ buffer, pattern, current, follows }}
        total={buffer.dropped() + buffer.length()}
        isFiltered={isFiltered && pattern !== undefined}
        onFollows={setFollows}
        onOpen={setOpened}
      />
      <p class="log-count" data-state={watch.state}>
        {describeCount(buffer.length(), buffer.dropped())}
        {watch.state === 'stale' && `, reconnecting: ${watch.error?.detail}`}
        {watch.state === 'ended' && ', end of log'}
      </p>
      {opened !== undefined && (
        <div class="log-opened">
          <button type="button" onClick={() => setOpened(undefined)}>
            Close
          </button>
          <pre>{opened.message}</pre>
        </div>
      )}
    </div>
  )
}

function describeMatches(current: number, count: number): string {
  if (count === 0) return 'no matches'
  const matches = count === 1 ? '1 match' : `${count} matches`
  return current === -1 ? matches : `${current + 1} of ${matches}`
}

function describeCount(count: number, dropped: number): string {
  const lines = count === 1 ? '1 line' : `${count} lines`
  return dropped === 0 ? lines : `${lines}, ${dropped} older not shown`
}
