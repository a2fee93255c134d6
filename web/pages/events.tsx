import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { CallStatus } from '../components/call-status.tsx'
import { Page } from '../components/page.tsx'
import { Search } from '../components/search.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { formatBytes, formatCount } from '../components/time/format.ts'
import { DRAFT_KEY } from '../events/draft.ts'
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

/** Topics of the namespace with the lag of their consumer groups. */
export default function Events(): JSX.Element {
  const [search, setSearch] = useState('')
  // Opens the form immediately if a draft is stored.
  const [isFormOpen] = useState(() => readDraft(DRAFT_KEY) !== undefined)
  const topics = useTopics('')
  const results = useMemo(
    () => (topics.value ?? []).filter(({ topic }) => topic.includes(search.trim())),
    [topics.value, search],
  )
  return (
    <Page
      title="Events"
      about={`Topics of the namespace ${namespace.value}`}
      actions={
        <Search label="Search topics" value={search} onInput={setSearch} count={results.length} />
      }
    >
      <CallStatus call={topics} subject="list of topics (events Stream.Topics)" />
      {topics.value !== undefined && (
        <div class="records">
          <Table
            label="Topics"
            columns={COLUMNS}
            rows={results}
            keyOf={({ topic }) => topic}
            sortedBy="topic"
            empty={
              topics.value.length === 0 ? (
                <Empty title="No topics">Publishing an event creates its topic.</Empty>
              ) : (
                <Empty title="No matching topics" />
              )
            }
          />
          <details class="card" open={isFormOpen}>
            <summary>Publish event</summary>
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
