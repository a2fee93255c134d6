import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { useCall } from '../hooks/use-call.ts'
import { call } from '../rpc/caller.ts'
import { countEvents, type EventMessage, type TopicMessage } from './event.ts'
import { EventTable } from './event-table.tsx'
import { NEW, parseStart, type TypedStart } from './start.ts'
import { StartFields } from './start-fields.tsx'

/** Events of a page. */
const PAGE = 100

/** Which page, as `Store.Read` takes it. */
interface Place {
  /** So many are left out, from the start of the topic. */
  readonly offset: number
  readonly since_ms?: number
}

interface EventPage {
  readonly events: readonly EventMessage[]
  /** There are more: the offset to read on from. */
  readonly next?: number
}

export interface MessagesProps {
  readonly topic: TopicMessage
  readonly onOpen: (event: EventMessage) => void
}

/** Events of a topic that are kept, a page at a time; the newest page follows what is published. */
export function Messages({ topic, onOpen }: MessagesProps): JSX.Element {
  const { topic: name, first, last } = topic
  const [typed, setTyped] = useState<TypedStart>(NEW)
  const [wrong, setWrong] = useState<string>()
  const [chosen, setChosen] = useState<Place>()
  const place = chosen ?? { offset: Math.max(first, last - PAGE + 1) - 1 }
  const page = useCall(
    (signal) =>
      call<EventPage>('events', 'Store.Read', { topic: name, limit: PAGE, ...place }, { signal }),
    [name, place.offset, place.since_ms, chosen === undefined && last],
  )

  function show(event: SubmitEvent): void {
    event.preventDefault()
    try {
      const { sequence, offset_ms } = parseStart(typed)
      setWrong(undefined)
      if (offset_ms !== undefined) setChosen({ offset: 0, since_ms: offset_ms })
      else setChosen(sequence === undefined ? undefined : { offset: sequence - 1 })
    } catch (error) {
      setWrong((error as Error).message)
    }
  }

  const { events = [], next } = page.value?.body ?? {}
  const oldest = events.reduce((least, { sequence }) => Math.min(least, sequence), place.offset + 1)
  return (
    <div class="records">
      <form class="toolbar" aria-label="Which events" onSubmit={show}>
        <StartFields value={typed} onInput={setTyped} newest="the newest" />
        <button type="submit">Show</button>
        <button
          type="button"
          disabled={oldest <= first}
          onClick={() => setChosen({ offset: Math.max(first, oldest - PAGE) - 1 })}
        >
          Older
        </button>
        <button
          type="button"
          disabled={chosen === undefined}
          onClick={() => setChosen(next === undefined ? undefined : { ...chosen, offset: next })}
        >
          Newer
        </button>
      </form>
      {wrong !== undefined && (
        <p class="field-error" role="alert">
          {wrong}
        </p>
      )}
      {page.error !== undefined && (
        <Problem error={page.error} asked={`events of ${name}`} onRetry={page.reload} />
      )}
      {page.value === undefined ? (
        page.state === 'loading' && <Loading />
      ) : (
        <>
          <EventTable
            label={`Events of ${name}`}
            events={events}
            onOpen={onOpen}
            empty={
              <Empty title="No events here">
                {countEvents(topic) > 0
                  ? 'None is kept that is this new.'
                  : 'What is published appears here.'}
              </Empty>
            }
          />
          {countEvents(topic) > 0 && (
            <p class="muted">
              {events.length} of {countEvents(topic)} that are kept
            </p>
          )}
        </>
      )}
    </div>
  )
}
