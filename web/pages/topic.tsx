import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Loading } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import { formatBytes } from '../components/time/format.ts'
import { showToast } from '../components/toast.tsx'
import { DRAFT_KEY, toDraft } from '../events/draft.ts'
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
  { id: 'messages', title: 'Events' },
  { id: 'groups', title: 'Groups' },
  { id: 'replay', title: 'Replay' },
  { id: 'publish', title: 'Publish' },
]

/** Events and consumer groups of a topic, with a replay and a publish form. */
export default function Topic({ parameters }: RouteProps): JSX.Element {
  const { topic: name = '' } = parameters
  const [opened, setOpened] = useState<EventMessage>()
  const [isDeleting, setDeleting] = useState(false)
  const topics = useTopics(name)
  const requestedTab = query.value.get('tab')
  const tab = TABS.find(({ id }) => id === requestedTab)?.id ?? 'messages'
  const isMissing = topics.value?.length === 0
  const state = topics.value?.[0] ?? emptyTopic(name)

  function republish(event: EventMessage): void {
    saveDraft(DRAFT_KEY, toDraft(event))
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
          subject={`topic ${name} (events Stream.Topics)`}
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
        <EventDialog event={opened} onClose={() => setOpened(undefined)} onRepublish={republish} />
      )}
      {isDeleting && (
        <Confirm
          title={`Delete topic ${name}?`}
          action="Delete topic"
          dangerous
          onConfirm={async () => {
            await call('events', 'Stream.DeleteTopic', { topic: name })
            showToast(`Topic ${name} deleted`)
            navigate('/events')
          }}
          onClose={() => setDeleting(false)}
        >
          <p>
            Permanently deletes {count(countEvents(state), 'event')} and{' '}
            {count(state.groups.length, 'group')}, and ends the consumers with an error. Publishing
            creates the topic again.
          </p>
        </Confirm>
      )}
    </Page>
  )
}

function emptyTopic(topic: string): TopicMessage {
  return { topic, first: 1, last: 0, bytes: 0, groups: [] }
}

function describe(topic: TopicMessage, isMissing: boolean): string {
  if (isMissing) return 'This topic does not exist yet. Publishing creates it.'
  const { first, last, bytes, groups } = topic
  const span = countEvents(topic) === 0 ? '' : ` (${first} to ${last})`
  const events = count(countEvents(topic), 'event')
  return `${events}${span}, ${formatBytes(bytes)}, ${count(groups.length, 'group')}`
}

function count(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`
}
