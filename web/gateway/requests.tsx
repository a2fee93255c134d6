import type { JSX } from 'preact'
import type { RecentRequest } from '../../core/metrics/recent-requests.ts'
import { Badge } from '../components/badge.tsx'
import { CallStatus } from '../components/call-status.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { formatDuration } from '../components/time/format.ts'
import { formatDateTime } from '../components/time/format-time.ts'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'

const REFRESH_MS = 5000

const COLUMNS: readonly Column<RecentRequest & { readonly key: string }>[] = [
  {
    ...{ id: 'time', title: 'Time', sort: ({ time }) => time },
    render: ({ time }) => formatDateTime(time),
  },
  { ...{ id: 'status', title: 'Status', sort: ({ status }) => status }, render: Status },
  {
    ...{ id: 'path', title: 'Request', heading: true, sort: ({ path }) => path },
    render: ({ method, path }) => <code>{`${method} ${path}`}</code>,
  },
  {
    ...{ id: 'service', title: 'Service', sort: ({ service }) => service },
    render: ({ service }) => service || '–',
  },
  {
    ...{ id: 'duration', title: 'Duration', sort: ({ duration_ms }) => duration_ms },
    render: ({ duration_ms }) => formatDuration(duration_ms),
  },
  {
    ...{ id: 'error', title: 'Error', minor: true, sort: ({ error }) => error },
    render: ({ error }) => error || '–',
  },
  {
    ...{ id: 'id', title: 'Trace or request ID', minor: true },
    render: ({ id, trace_id }) => <code>{trace_id || id}</code>,
  },
]

/** Recent failed and slow requests. */
export function Requests(): JSX.Element {
  const read = useCall(readRequests, [])
  const { value } = read
  usePolling(read, REFRESH_MS)
  return (
    <div class="gateway-tab">
      <CallStatus call={read} subject="gateway requests" />
      <p class="muted">Requests that failed or took one second or longer</p>
      {value !== undefined && (
        <Table
          label="Requests"
          columns={COLUMNS}
          rows={value}
          keyOf={({ key }) => key}
          sortedBy="time"
          descending
          empty={<Empty title="No failed or slow requests" />}
        />
      )}
    </div>
  )
}

function Status({ status, rpc_status }: RecentRequest): JSX.Element {
  const tone = status === 0 || status >= 500 ? 'bad' : status >= 400 ? 'warning' : 'neutral'
  const text = rpc_status < 0 ? `${status}` : `${status}, gRPC ${rpc_status}`
  return <Badge tone={tone}>{status === 0 ? 'client disconnected' : text}</Badge>
}

async function readRequests(signal: AbortSignal) {
  const { body } = await call<{ requests: RecentRequest[] }>('api', 'Api.Requests', {}, { signal })
  // Keys are indexes, because clients choose request ids and may repeat them.
  return body.requests.map((request, i) => ({ ...request, key: String(i) }))
}
