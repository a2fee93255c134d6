import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { useCall } from '../hooks/use-call.ts'
import { call } from '../rpc/caller.ts'
import { countEvents, type EventMessage, type TopicMessage } from './event.ts'
import { EventTable } from './event-table.tsx'
import { NEW, parseStart, type StartDraft } from './start.ts'
import { StartFields } from './start-fields.tsx'

const PAGE_SIZE = 100

/** Start of a page, as in `Store.Read`. */
interface Position {
  /** Number of events to skip from the start of the topic. */
  readonly offset: number
  readonly since_ms?: number
}

interface EventPage {
  readonly events: readonly EventMessage[]
  /** Offset of the next page. */
  readonly next?: number
}

export interface MessagesProps {
  readonly topic: TopicMessage
  readonly onOpen: (event: EventMessage) => void
}

/** Retained events of a topic, paginated. The newest page is updated as events are published. */
export function Messages({ topic, onOpen }: MessagesProps): JSX.Element {
  const { topic: name, first, last } = topic
  const [draft, setDraft] = useState<StartDraft>(NEW)
  const [invalid, setInvalid] = useState<string>()
  const [selected, setSelected] = useState<Position>()
  const position = selected ?? { offset: Math.max(first, last - PAGE_SIZE + 1) - 1 }
  const page = useCall(
    (signal) =>
      call<EventPage>(
        'events',
        'Store.Read',
        { topic: name, limit: PAGE_SIZE, ...position },
        { signal },
      ),
    [name, position.offset, position.since_ms, selected === undefined && last],
  )

  function show(event: SubmitEvent): void {
    event.preventDefault()
    try {
      const { sequence, offset_ms } = parseStart(draft)
      setInvalid(undefined)
      if (offset_ms !== undefined) setSelected({ offset: 0, since_ms: offset_ms })
      else setSelected(sequence === undefined ? undefined : { offset: sequence - 1 })
    } catch (error) {
      setInvalid((error as Error).message)
    }
  }

  const { events = [], next } = page.value?.body ?? {}
  const oldest = events.reduce(
    (least, { sequence }) => Math.min(least, sequence),
    position.offset + 1,
  )
  return (
    <div class="records">
      <form class="toolbar" aria-label="Event range" onSubmit={show}>
        <StartFields value={draft} onInput={setDraft} newest="Newest" />
        <button type="submit">Show</button>
        <button
          type="button"
          disabled={oldest <= first}
          onClick={() => setSelected({ offset: Math.max(first, oldest - PAGE_SIZE) - 1 })}
        >
          Older
        </button>
        <button
          type="button"
          disabled={selected === undefined}
          onClick={() =>
            setSelected(next === undefined ? undefined : { ...selected, offset: next })
          }
        >
          Newer
        </button>
      </form>
      {invalid !== undefined && (
        <p class="field-error" role="alert">
          {invalid}
        </p>
      )}
      {page.error !== undefined && (
        <Problem error={page.error} subject={`events of ${name}`} onRetry={page.reload} />
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
              <Empty title="No events">
                {countEvents(topic) > 0
                  ? 'There are no events from this position on.'
                  : 'Published events appear here.'}
              </Empty>
            }
          />
          {countEvents(topic) > 0 && (
            <p class="muted">
              {events.length} of {countEvents(topic)} retained events
            </p>
          )}
        </>
      )}
    </div>
  )
}
