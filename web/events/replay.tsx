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
import { NEW, parseStart, type Start, type TypedStart } from './start.ts'
import { StartFields } from './start-fields.tsx'
import { readTopic } from './use-topics.ts'

export interface ReplayProps {
  readonly topic: string
  readonly onOpen: (event: EventMessage) => void
}

/** Consumes a topic from some point on, then what is new, as a group of its own: others miss nothing by it. */
export function Replay({ topic, onOpen }: ReplayProps): JSX.Element {
  const [typed, setTyped] = useState<TypedStart>(NEW)
  const [wrong, setWrong] = useState<string>()
  const [failure, setFailure] = useState<CallError>()
  const [running, setRunning] = useState<Start>()
  const taken = useRef(new ConsumedEvents())
  const redraw = useAnimationFrame()
  const watch = useWatch<EventMessage>(
    () => {
      if (running === undefined) return undefined
      const { last } = taken.current
      // Where it broke it goes on behind the last event it had.
      const start = last === undefined ? running : { sequence: last + 1 }
      return openStream('events', 'Stream.Consume', { topic, auto_ack: true, ...start })
    },
    (event) => {
      taken.current.push(event)
      redraw()
    },
    [topic, running],
  )

  async function begin(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setWrong(undefined)
    setFailure(undefined)
    try {
      const start = typed.from === 'new' ? await readEnd(topic) : parseStart(typed)
      taken.current = new ConsumedEvents()
      setRunning(start)
    } catch (error) {
      if (error instanceof RangeError) setWrong(error.message)
      else setFailure(CallError.from(error))
    }
  }

  const { all, count } = taken.current
  const isRunning = running !== undefined
  return (
    <div class="records">
      <form class="toolbar" aria-label="Replay" onSubmit={(event) => void begin(event)}>
        <StartFields value={typed} onInput={setTyped} newest="what is new" />
        <button type="submit" class="primary">
          {isRunning ? 'Begin anew' : 'Begin'}
        </button>
        <button type="button" disabled={!isRunning} onClick={() => setRunning(undefined)}>
          Stop
        </button>
        <span role="status" data-state={isRunning ? watch.state : 'stopped'}>
          {describe(isRunning ? watch.state : 'stopped', count)}
        </span>
      </form>
      {wrong !== undefined && (
        <p class="field-error" role="alert">
          {wrong}
        </p>
      )}
      {failure !== undefined && <Problem error={failure} asked={`where ${topic} ends`} />}
      {isRunning && watch.state === 'failed' && watch.error !== undefined && (
        <Problem error={watch.error} asked={`a replay of ${topic}`} onRetry={watch.restart} />
      )}
      <EventTable
        label={`Replay of ${topic}`}
        events={all}
        onOpen={onOpen}
        empty={
          <Empty title={isRunning ? 'No events so far' : 'Nothing is replayed'}>
            {isRunning
              ? 'What is published appears here.'
              : 'Choose where to begin. Groups of the topic do not notice.'}
          </Empty>
        }
      />
      {count > all.length && (
        <p class="muted">
          The newest {all.length} of {count} are shown.
        </p>
      )}
    </div>
  )
}

/** Behind what there is: with the sequence, a stream that breaks before its first event begins there again. */
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
      return `${events}, not connected: it goes on as soon as the server is back`
    case 'ended':
    case 'failed':
    case 'stopped':
      return count === 0 ? '' : `${events}, stopped`
  }
}
