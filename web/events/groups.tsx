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
  /** A group was deleted. */
  readonly onChange: () => void
}

/** The groups of a topic, and how far each is behind. */
export function Groups({ topic: { topic, groups }, onChange }: GroupsProps): JSX.Element {
  const [deleted, setDeleted] = useState<string>()
  const columns = useMemo(() => toColumns(setDeleted), [])
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
            A group is there once somebody consumes the topic in its name.
          </Empty>
        }
      />
      {deleted !== undefined && (
        <Confirm
          title={`Delete the group ${deleted}?`}
          action="Delete group"
          dangerous
          onConfirm={async () => {
            await call('events', 'Stream.DeleteGroup', { topic, group: deleted })
            showToast(`The group ${deleted} was deleted`)
            onChange()
          }}
          onClose={() => setDeleted(undefined)}
        >
          <p>
            How far it is with <b>{topic}</b> is forgotten, and its consumers are told that it is
            gone. Who names it again begins anew. Events stay.
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
      ...{ id: 'acked', title: 'Done up to', align: 'end', sort: ({ acked }) => acked },
      render: ({ acked }) => acked,
    },
    {
      ...{ id: 'actions', title: 'Actions', align: 'end' },
      render: ({ group }) => (
        <button
          type="button"
          class="quiet"
          aria-label={`Delete the group ${group}`}
          onClick={() => onDelete(group)}
        >
          Delete
        </button>
      ),
    },
  ]
}
