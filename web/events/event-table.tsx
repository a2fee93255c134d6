import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { type Column, Table } from '../components/table/table.tsx'
import { formatBytes } from '../components/time/format.ts'
import { Time } from '../components/time/time.tsx'
import { decodeBase64 } from '../store/base64.ts'
import { toPreview } from '../store/value-format.ts'
import { type EventMessage, formatMetadata, sizeOfPayload } from './event.ts'

export interface EventTableProps {
  readonly label: string
  readonly events: readonly EventMessage[]
  readonly onOpen: (event: EventMessage) => void
  readonly empty: JSX.Element
}

const PREVIEW = 120
/** Number of Base64 characters that suffice for a preview in any encoding. */
const PREVIEW_BASE64 = 8 * PREVIEW

/** Table of events, newest first. */
export function EventTable({ label, events, onOpen, empty }: EventTableProps): JSX.Element {
  const columns = useMemo(() => toColumns(onOpen), [onOpen])
  return (
    <Table
      label={label}
      columns={columns}
      rows={events}
      keyOf={({ sequence, id }) => `${sequence} ${id}`}
      sortedBy="sequence"
      descending
      empty={empty}
    />
  )
}

function toColumns(onOpen: (event: EventMessage) => void): readonly Column<EventMessage>[] {
  return [
    {
      ...{ id: 'sequence', title: 'Sequence', heading: true, sort: ({ sequence }) => sequence },
      render: (event) => (
        <button
          type="button"
          class="record-open"
          aria-label={`Event ${event.sequence}`}
          onClick={() => onOpen(event)}
        >
          {event.sequence}
        </button>
      ),
    },
    {
      ...{ id: 'time', title: 'Time', sort: ({ timestamp_ms }) => timestamp_ms },
      render: ({ timestamp_ms }) => <Time ms={timestamp_ms} />,
    },
    {
      ...{ id: 'metadata', title: 'Metadata', minor: true },
      render: ({ metadata }) => <span class="mono">{formatMetadata(metadata)}</span>,
    },
    {
      ...{ id: 'payload', title: 'Payload' },
      render: ({ payload }) => {
        const bytes = decodeBase64(payload.slice(0, PREVIEW_BASE64))
        return <span class="mono">{toPreview(bytes, PREVIEW)}</span>
      },
    },
    {
      ...{ id: 'size', title: 'Size', align: 'end', minor: true, sort: sizeOfPayload },
      render: (event) => formatBytes(sizeOfPayload(event)),
    },
  ]
}
