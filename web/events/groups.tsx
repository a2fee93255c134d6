import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { formatCount } from '../components/time/format.ts'
import { showToast } from '../components/toast.tsx'
import { call } from '../rpc/caller.ts'
import type { GroupMessage, TopicMessage } from './event.ts'

export interface GroupsProps {
  readonly topic: TopicMessage
  /** Called after a group was deleted. */
  readonly onChange: () => void
}

/** Consumer groups of a topic with their lag. */
export function Groups({ topic: { topic, groups }, onChange }: GroupsProps): JSX.Element {
  const [deleting, setDeleting] = useState<string>()
  const columns = useMemo(() => toColumns(setDeleting), [])
  return (
    <>
      <Table
        label={`Groups of ${topic}`}
        columns={columns}
        rows={groups}
        keyOf={({ group }) => group}
        sortedBy="lag"
        descending
        empty={
          <Empty title="No groups">
            A group is created when its first consumer subscribes to the topic.
          </Empty>
        }
      />
      {deleting !== undefined && (
        <Confirm
          title={`Delete group ${deleting}?`}
          action="Delete group"
          dangerous
          onConfirm={async () => {
            await call('events', 'Stream.DeleteGroup', { topic, group: deleting })
            showToast(`Group ${deleting} deleted`)
            onChange()
          }}
          onClose={() => setDeleting(undefined)}
        >
          <p>
            Deletes its progress in <b>{topic}</b> and ends its consumers with an error. A consumer
            that uses the name again starts over. Events are not deleted.
          </p>
        </Confirm>
      )}
    </>
  )
}

function toColumns(onDelete: (group: string) => void): readonly Column<GroupMessage>[] {
  return [
    {
      ...{ id: 'group', title: 'Group', heading: true, sort: ({ group }) => group },
      render: ({ group }) => group,
    },
    {
      ...{ id: 'lag', title: 'Lag', align: 'end', sort: ({ lag }) => lag },
      render: ({ lag }) => (
        <Badge tone={lag === 0 ? 'good' : 'warning'}>{formatCount(lag)} behind</Badge>
      ),
    },
    {
      ...{ id: 'pending', title: 'In flight', align: 'end', sort: ({ pending }) => pending },
      render: ({ pending }) => formatCount(pending),
    },
    {
      ...{ id: 'acked', title: 'Acknowledged', align: 'end', sort: ({ acked }) => acked },
      render: ({ acked }) => acked,
    },
    {
      ...{ id: 'actions', title: 'Actions', align: 'end' },
      render: ({ group }) => (
        <button
          type="button"
          class="quiet"
          aria-label={`Delete group ${group}`}
          onClick={() => onDelete(group)}
        >
          Delete
        </button>
      ),
    },
  ]
}
