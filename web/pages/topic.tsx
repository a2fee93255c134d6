import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Loading } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import { formatBytes } from '../components/time/format.ts'
import { showToast } from '../components/toast.tsx'
import { PLACE, toDraft } from '../events/draft.ts'
import { countEvents, type EventMessage, type TopicMessage } from '../events/event.ts'
import { EventDialog } from '../events/event-dialog.tsx'
import { Groups } from '../events/groups.tsx'
import { Messages } from '../events/messages.tsx'
import { PublishForm } from '../events/publish-form.tsx'
import { Replay } from '../events/replay.tsx'
import { useTopics } from '../events/use-topics.ts'
import { call } from '../rpc/caller.ts'
import { saveDraft } from '../state/draft-storage.ts'
import type { RouteProps } from '../state/match-path.ts'
import { navigate, query, setQuery } from '../state/router.ts'
import '../style/records.css'

const TABS = [
  { id: 'messages', title: 'Messages' },
  { id: 'groups', title: 'Groups' },
  { id: 'replay', title: 'Replay' },
  { id: 'publish', title: 'Publish' },
]

/** A topic: its events, its groups, a replay of it, and how to publish to it. */
export default function Topic({ parameters }: RouteProps): JSX.Element {
  const { topic: name = '' } = parameters
  const [opened, setOpened] = useState<EventMessage>()
  const [isDeleting, setDeleting] = useState(false)
  const topics = useTopics(name)
  const wanted = query.value.get('tab')
  const tab = TABS.find(({ id }) => id === wanted)?.id ?? 'messages'
  const isMissing = topics.value?.length === 0
  const state = topics.value?.[0] ?? toNothing(name)

  function publishAgain(event: EventMessage): void {
    saveDraft(PLACE, toDraft(event))
    setOpened(undefined)
    setQuery('tab', 'publish')
  }

  return (
    <Page
      title={name}
      about={topics.value && describe(state, isMissing)}
      actions={
        topics.value !== undefined &&
        !isMissing && (
          <button type="button" class="danger" onClick={() => setDeleting(true)}>
            Delete topic…
          </button>
        )
      }
    >
      {topics.error !== undefined && (
        <Problem
          error={topics.error}
          asked={`the topic ${name} (events Stream.Topics)`}
          onRetry={topics.reload}
        />
      )}
      {topics.value === undefined ? (
        topics.state === 'loading' && <Loading />
      ) : (
        <Tabs
          label={`Topic ${name}`}
          tabs={TABS}
          selected={tab}
          onSelect={(id) => setQuery('tab', id === 'messages' ? '' : id)}
        >
          {tab === 'messages' && <Messages topic={state} onOpen={setOpened} />}
          {tab === 'groups' && <Groups topic={state} onChange={topics.reload} />}
          {tab === 'replay' && <Replay topic={name} onOpen={setOpened} />}
          {tab === 'publish' && <PublishForm topic={name} onPublished={topics.reload} />}
        </Tabs>
      )}
      {opened !== undefined && (
        <EventDialog event={opened} onClose={() => setOpened(undefined)} onAgain={publishAgain} />
      )}
      {isDeleting && (
        <Confirm
          title={`Delete the topic ${name}?`}
          action="Delete topic"
          dangerous
          onConfirm={async () => {
            await call('events', 'Stream.DeleteTopic', { topic: name })
            showToast(`The topic ${name} was deleted`)
            navigate('/events')
          }}
          onClose={() => setDeleting(false)}
        >
          <p>
            Its {count(countEvents(state), 'event')} and {count(state.groups.length, 'group')} are
            gone for good; consumers are told so. What is published afterwards begins it anew.
          </p>
        </Confirm>
      )}
    </Page>
  )
}

function toNothing(topic: string): TopicMessage {
  return { topic, first: 1, last: 0, bytes: 0, groups: [] }
}

function describe(topic: TopicMessage, isMissing: boolean): string {
  if (isMissing) return 'There is no such topic yet: publishing to it makes it'
  const { first, last, bytes, groups } = topic
  const span = countEvents(topic) === 0 ? '' : ` (${first} to ${last})`
  const events = count(countEvents(topic), 'event')
  return `${events}${span}, ${formatBytes(bytes)}, ${count(groups.length, 'group')}`
}

function count(number: number, what: string): string {
  return number === 1 ? `1 ${what}` : `${number} ${what}s`
}
