import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Node, Service } from '../../core/contracts/registry.ts'
import { Badge, type Tone } from '../components/badge.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { formatCount, formatDuration } from '../components/time/format.ts'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import { DEFAULT_NAMESPACE } from '../state/session.ts'

/** State of a node in the gateway (`Api.Nodes`). */
interface NodeStatus {
  readonly id: string
  readonly state: string
  readonly in_flight: number
  readonly latency_ms?: number
}

interface Row extends Node {
  readonly version: string
  /** Status; undefined if the gateway does not use the service. */
  readonly status: NodeStatus | undefined
}

const TONES: Readonly<Record<string, Tone>> = {
  ...{ usable: 'good', warming: 'accent' },
  ...{ open: 'bad', unhealthy: 'bad', ejected: 'bad' },
  ...{ draining: 'warning', drained: 'warning' },
}

const COLUMNS: readonly Column<Row>[] = [
  { id: 'id', title: 'Node', render: ({ id }) => id, sort: ({ id }) => id, heading: true },
  {
    id: 'address',
    title: 'Address',
    render: ({ address }) => address,
    sort: ({ address }) => address,
  },
  {
    id: 'version',
    title: 'Version',
    render: ({ version }) => version,
    sort: ({ version }) => version,
  },
  {
    id: 'state',
    title: 'State',
    render: ({ status }) =>
      status === undefined ? (
        '–'
      ) : (
        <Badge tone={TONES[status.state] ?? 'neutral'}>{status.state}</Badge>
      ),
    sort: ({ status }) => status?.state ?? '',
  },
  {
    ...{ id: 'in-flight', title: 'In flight', align: 'end', minor: true },
    render: ({ status }) => (status === undefined ? '–' : formatCount(status.in_flight)),
    sort: ({ status }) => status?.in_flight ?? -1,
  },
  {
    ...{ id: 'latency', title: 'Latency', align: 'end', minor: true },
    render: ({ status }) =>
      status?.latency_ms === undefined ? '–' : formatDuration(status.latency_ms),
    sort: ({ status }) => status?.latency_ms ?? -1,
  },
  {
    id: 'metadata',
    title: 'Metadata',
    minor: true,
    render: ({ metadata }) =>
      Object.entries(metadata)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
  },
]

/** Nodes of a service with their state in the gateway, visible to viewers of the namespace. */
export function Nodes({
  service,
  domain,
  versions,
}: {
  readonly service: string
  readonly domain: string
  readonly versions: readonly Service[]
}): JSX.Element {
  const status = useCall(
    (signal) =>
      call<{ readonly nodes?: readonly NodeStatus[] }>(
        'api',
        'Api.Nodes',
        { service, namespace: domain },
        { namespace: DEFAULT_NAMESPACE, signal },
      ),
    [service, domain],
  )
  usePolling(status)
  const states = status.value?.body.nodes
  const rows = useMemo(() => {
    const byId = new Map(states?.map((node) => [node.id, node]))
    return versions.flatMap(({ version, nodes }) =>
      nodes.map((node) => ({ ...node, version, status: byId.get(node.id) })),
    )
  }, [versions, states])
  return (
    <Table
      label="Nodes"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ id, version }) => `${version} ${id}`}
      sortedBy="id"
      empty={<Empty title="No nodes">The service is registered without running nodes.</Empty>}
    />
  )
}
