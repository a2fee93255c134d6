import type { JSX } from 'preact'
import type { LinkMessage } from '../../services/network/messages.ts'
import { Badge, type Tone } from '../components/badge.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { formatBytes, formatCount, formatDuration } from '../components/time/format.ts'

const TONES: Readonly<Record<LinkMessage['state'], Tone>> = {
  linked: 'good',
  connecting: 'warning',
  waiting: 'bad',
  asleep: 'neutral',
}

const COLUMNS: readonly Column<LinkMessage>[] = [
  {
    ...{ id: 'server', title: 'Server', heading: true, sort: ({ id, address }) => id || address },
    render: ({ id }) => id || 'unknown',
  },
  {
    ...{ id: 'address', title: 'Address', sort: ({ address }) => address },
    render: ({ address }) => <code>{address}</code>,
  },
  {
    ...{ id: 'state', title: 'State', sort: ({ state }) => state },
    render: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>,
  },
  {
    ...{ id: 'rtt', title: 'Round trip', align: 'end', minor: true },
    sort: ({ rtt_ms }) => rtt_ms,
    render: ({ rtt_ms, state }) => (state === 'linked' ? formatDuration(rtt_ms) : '–'),
  },
  {
    ...{ id: 'calls', title: 'Calls', align: 'end', minor: true, sort: ({ calls }) => calls },
    render: ({ calls }) => formatCount(calls),
  },
  {
    ...{ id: 'failures', title: 'Failed', align: 'end', minor: true },
    sort: ({ failures }) => failures,
    render: ({ failures }) => formatCount(failures),
  },
  {
    ...{ id: 'sent', title: 'Sent', align: 'end', minor: true },
    sort: ({ sent_bytes }) => sent_bytes,
    render: ({ sent_bytes }) => formatBytes(sent_bytes),
  },
  {
    ...{ id: 'received', title: 'Received', align: 'end', minor: true },
    sort: ({ received_bytes }) => received_bytes,
    render: ({ received_bytes }) => formatBytes(received_bytes),
  },
  {
    ...{ id: 'error', title: 'Error' },
    render: ({ error }) => error && <span class="network-why">{error}</span>,
  },
]

/** Outbound links of this server. */
export function Links({ links }: { readonly links: readonly LinkMessage[] }): JSX.Element {
  return (
    <Table
      label="Links"
      columns={COLUMNS}
      rows={links}
      keyOf={({ address }) => address}
      sortedBy="server"
      empty={
        <Empty title="No links">
          Connect to a server with <code>mx network connect host:8081</code>, or permanently with{' '}
          <code>--network_nodes=host:8081</code>.
        </Empty>
      }
    />
  )
}
