import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { Empty } from '../components/states.tsx'
import { useAnimationFrame } from '../hooks/use-animation-frame.ts'
import { useWatch, type WatchState } from '../hooks/use-call.ts'
import { CallError } from '../rpc/call-error.ts'
import { openStream } from '../rpc/caller.ts'
import { ConsumedEvents } from './consumed-buffer.ts'
import type { EventMessage } from './event.ts'
import { EventTable } from './event-table.tsx'
import { NEW, parseStart, type Start, type StartDraft } from './start.ts'
import { StartFields } from './start-fields.tsx'
import { readTopic } from './use-topics.ts'

export interface ReplayProps {
  readonly topic: string
  readonly onOpen: (event: EventMessage) => void
}

/**
 * Consumes a topic from a position onwards, including new events, without a group, so that no consumer loses events.
 */
export function Replay({ topic, onOpen }: ReplayProps): JSX.Element {
  const [draft, setDraft] = useState<StartDraft>(NEW)
  const [invalid, setInvalid] = useState<string>()
  const [failure, setFailure] = useState<CallError>()
  const [running, setRunning] = useState<Start>()
  const consumed = useRef(new ConsumedEvents())
  const refresh = useAnimationFrame()
  const watch = useWatch<EventMessage>(
    () => {
      if (running === undefined) return undefined
      const { last } = consumed.current
      // Resumes after the last received event.
      const start = last === undefined ? running : { sequence: last + 1 }
      return openStream('events', 'Stream.Consume', { topic, auto_ack: true, ...start })
    },
    (event) => {
      consumed.current.push(event)
      refresh()
    },
    [topic, running],
  )

  async function begin(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setInvalid(undefined)
    setFailure(undefined)
    try {
      const start = draft.from === 'new' ? await readEnd(topic) : parseStart(draft)
      consumed.current = new ConsumedEvents()
      setRunning(start)
    } catch (error) {
      if (error instanceof RangeError) setInvalid(error.message)
      else setFailure(CallError.from(error))
    }
  }

  const { all, count } = consumed.current
  const isRunning = running !== undefined
  return (
    <div class="records">
      <form class="toolbar" aria-label="Replay" onSubmit={(event) => void begin(event)}>
        <StartFields value={draft} onInput={setDraft} newest="New events" />
        <button type="submit" class="primary">
          {isRunning ? 'Restart' : 'Start'}
        </button>
        <button type="button" disabled={!isRunning} onClick={() => setRunning(undefined)}>
          Stop
        </button>
        <span role="status" data-state={isRunning ? watch.state : 'stopped'}>
          {describe(isRunning ? watch.state : 'stopped', count)}
        </span>
      </form>
      {invalid !== undefined && (
        <p class="field-error" role="alert">
          {invalid}
        </p>
      )}
      {failure !== undefined && <Problem error={failure} subject={`end of topic ${topic}`} />}
      {isRunning && watch.state === 'failed' && watch.error !== undefined && (
        <Problem error={watch.error} subject={`replay of ${topic}`} onRetry={watch.restart} />
      )}
      <EventTable
        label={`Replay of ${topic}`}
        events={all}
        onOpen={onOpen}
        empty={
          <Empty title={isRunning ? 'No events yet' : 'Replay not started'}>
            {isRunning
              ? 'Published events appear here.'
              : 'Select a start position. A replay does not affect consumer groups.'}
          </Empty>
        }
      />
      {count > all.length && (
        <p class="muted">
          Showing the newest {all.length} of {count} events.
        </p>
      )}
    </div>
  )
}

/** Position after the last event, as a sequence, so that a stream interrupted before its first event resumes there. */
async function readEnd(topic: string): Promise<Start> {
  const state = await readTopic(topic)
  return { sequence: (state?.last ?? 0) + 1 }
}

function describe(state: WatchState['state'] | 'stopped', count: number): string {
  const events = count === 1 ? '1 event' : `${count} events`
  switch (state) {
    case 'connecting':
      return 'Connecting'
    case 'live':
      return count === 0 ? 'Waiting for events, live' : `${events}, live`
    case 'stale':
      return `${events}, reconnecting`
    case 'ended':
    case 'failed':
    case 'stopped':
      return count === 0 ? '' : `${events}, stopped`
  }
}
