import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Badge, type Tone } from '../components/badge.tsx'
import { Problem } from '../components/problem.tsx'
import { formatTime } from '../components/time/format-time.ts'
import { JsonView } from '../components/tree/json-view.tsx'
import type { CallState } from './call-state.ts'
import type { Target } from './send.ts'
import type { Message, StreamState } from './stream-log.ts'

const STATES: Readonly<Record<StreamState['state'], readonly [text: string, tone: Tone]>> = {
  idle: ['closed', 'neutral'],
  opening: ['connecting', 'neutral'],
  open: ['open', 'good'],
  half: ['half-closed', 'good'],
  ended: ['ended', 'neutral'],
  stopped: ['stopped', 'neutral'],
  failed: ['failed', 'bad'],
}
/** Maximum number of rendered messages. */
const MAX_RENDERED = 200
/** Longer messages are collapsed. */
const MAX_LINE = 300

/** Messages of a stream. Unmounting cancels the stream. */
export function StreamView({
  callState: { stream },
  target,
}: {
  readonly callState: CallState
  readonly target: Target
}): JSX.Element {
  const { value: state } = stream.state
  const { value: messages } = stream.messages
  const recent = messages.slice(-MAX_RENDERED)
  const list = useRef<HTMLOListElement>(null)
  const [text, tone] = STATES[state.state]
  useEffect(() => {
    const element = list.current
    if (element === null) return
    // Follows new messages only near the end, so that the view stays in place if the user has scrolled up.
    const below = element.scrollHeight - element.scrollTop - element.clientHeight
    if (below < 200) element.scrollTop = element.scrollHeight
  }, [messages])

  useEffect(() => () => stream.stop(), [stream])
  return (
    <section class="stream" aria-label="Stream">
      <p class="response-facts">
        <span role="status">
          Stream: <Badge tone={tone}>{text}</Badge>
        </span>{' '}
        <span>{messages.at(-1)?.number ?? 0} messages</span>{' '}
        {messages.length > 0 && (
          <button type="button" class="quiet" onClick={() => stream.clear()}>
            Clear
          </button>
        )}
      </p>
      {state.state === 'failed' && (
        <Problem error={state.error} subject={`${target.service} ${target.endpoint.name}`} />
      )}
      {recent.length > 0 && recent[0]!.number > 1 && (
        <p class="muted">Showing the last {recent.length} messages.</p>
      )}
      {messages.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1)
        <ol ref={list} class="stream-messages" aria-label="Messages" tabIndex={0}>
          {recent.map((message) => (
            <MessageLine key={message.number} message={message} />
          ))}
        </ol>
      )}
    </section>
  )
}

function MessageLine({ message }: { readonly message: Message }): JSX.Element {
  const { number, direction, at, body } = message
  const [isOpen, setOpen] = useState(false)
  const text = useMemo(() => JSON.stringify(body) ?? '', [body])
  return (
    <li class={`stream-message ${direction}`}>
      <span class="muted">
        {number} {formatTime(at)}
      </span>{' '}
      <span>{direction === 'sent' ? '↑ sent' : '↓ received'}</span>{' '}
      {text.length <= MAX_LINE ? (
        <code>{text}</code>
      ) : (
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>
            <code>{text.slice(0, MAX_LINE)}…</code>
          </summary>
          {isOpen && (
            <JsonView
              value={body}
              label={`Message ${number}`}
              fileName={`message-${number}.json`}
            />
          )}
        </details>
      )}
    </li>
  )
}
