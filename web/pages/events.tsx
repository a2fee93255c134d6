import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Search } from '../components/search.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { formatBytes, formatCount } from '../components/time/format.ts'
import { PLACE } from '../events/draft.ts'
import { countEvents, findLag, type TopicMessage } from '../events/event.ts'
import { PublishForm } from '../events/publish-form.tsx'
import { toTopicPath } from '../events/topic-path.ts'
import { useTopics } from '../events/use-topics.ts'
import { readDraft } from '../state/draft-storage.ts'
import { Link, navigate } from '../state/router.ts'
import { namespace } from '../state/session.ts'
import '../style/records.css'

const COLUMNS: readonly Column<TopicMessage>[] = [
  {
    ...{ id: 'topic', title: 'Topic', heading: true, sort: ({ topic }) => topic },
    render: ({ topic }) => <Link to={toTopicPath(topic)}>{topic}</Link>,
  },
  {
    ...{ id: 'events', title: 'Events', align: 'end', sort: countEvents },
    render: (topic) => formatCount(countEvents(topic)),
  },
  {
    ...{ id: 'last', title: 'Newest', align: 'end', minor: true, sort: ({ last }) => last },
    render: ({ last }) => last,
  },
  {
    ...{ id: 'bytes', title: 'Size', align: 'end', minor: true, sort: ({ bytes }) => bytes },
    render: ({ bytes }) => formatBytes(bytes),
  },
  {
    ...{ id: 'groups', title: 'Groups', align: 'end', sort: ({ groups }) => groups.length },
    render: ({ groups }) => groups.length,
  },
  {
    ...{ id: 'lag', title: 'Lag', align: 'end', sort: findLag },
    render: (topic) => <Lag topic={topic} />,
  },
]

/** The topics of the namespace, and how far their groups are behind. */
export default function Events(): JSX.Element {
  const [wanted, setWanted] = useState('')
  // What is typed already is seen at once.
  const [isTyped] = useState(() => readDraft(PLACE) !== undefined)
  const topics = useTopics('')
  const found = useMemo(
    () => (topics.value ?? []).filter(({ topic }) => topic.includes(wanted.trim())),
    [topics.value, wanted],
  )
  return (
    <Page
      title="Events"
      about={`Topics of the namespace ${namespace.value}`}
      actions={
        <Search label="Search topics" value={wanted} onInput={setWanted} count={found.length} />
      }
    >
      {topics.error !== undefined && (
        <Problem
          error={topics.error}
          asked="the list of topics (events Stream.Topics)"
          onRetry={topics.reload}
        />
      )}
      {topics.value === undefined && topics.state === 'loading' && <Loading />}
      {topics.value !== undefined && (
        <div class="records">
          <Table
            label="Topics"
            columns={COLUMNS}
            rows={found}
            keyOf={({ topic }) => topic}
            sortedBy="topic"
            empty={
              topics.value.length === 0 ? (
                <Empty title="No topics">One is there from its first event on.</Empty>
              ) : (
                <Empty title="No topic has this name">Search for another one.</Empty>
              )
            }
          />
          <details class="card" open={isTyped}>
            <summary>Publish an event</summary>
            <PublishForm onPublished={(topic) => navigate(toTopicPath(topic))} />
          </details>
        </div>
      )}
    </Page>
  )
}

function Lag({ topic }: { readonly topic: TopicMessage }): JSX.Element {
  const lag = findLag(topic)
  if (lag === undefined) return <span class="muted">–</span>
  return <Badge tone={lag === 0 ? 'good' : 'warning'}>{formatCount(lag)} behind</Badge>
}
