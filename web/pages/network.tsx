import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { LinkMessage, PeerMessage, ServerMessage } from '../../services/network/messages.ts'
import { CallStatus } from '../components/call-status.tsx'
import { Page } from '../components/page.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { Graph } from '../network/graph.tsx'
import { layOut, type PlacedServer } from '../network/layout.ts'
import { Links } from '../network/links.tsx'
import { NetworkServices } from '../network/services.tsx'
import { call } from '../rpc/caller.ts'
import '../style/network.css'

interface NetworkStatus {
  readonly node: ServerMessage
  readonly links: readonly LinkMessage[]
  readonly listeners: readonly string[]
}

const COLUMNS: readonly Column<PlacedServer>[] = [
  {
    ...{ id: 'server', title: 'Server', heading: true, sort: ({ server }) => server.id },
    render: ({ server }) => server.id,
  },
  {
    ...{ id: 'address', title: 'Address', minor: true, sort: ({ server }) => server.address },
    render: ({ server }) => <code>{server.address || 'unknown'}</code>,
  },
  {
    ...{ id: 'hops', title: 'Distance', align: 'end', sort: ({ hops }) => hops },
    render: ({ hops }) => (hops === 0 ? 'this server' : hops),
  },
]

/** Servers linked with this one, and their services. */
export default function Network(): JSX.Element {
  const read = useCall(readNetwork, [])
  const { value } = read
  usePolling(read)
  return (
    <Page title="Network" about="Servers that call each other's services">
      <CallStatus call={read} subject="network" />
      {value !== undefined && <Servers {...value} />}
      <NetworkServices />
    </Page>
  )
}

interface NetworkState {
  readonly status: NetworkStatus
  readonly root: PeerMessage
}

async function readNetwork(signal: AbortSignal): Promise<NetworkState> {
  const [status, graph] = await Promise.all([
    call<NetworkStatus>('network', 'Network.Status', {}, { signal }),
    call<{ root: PeerMessage }>('network', 'Network.Graph', {}, { signal }),
  ])
  return { status: status.body, root: graph.body.root }
}

function Servers({ status, root }: NetworkState): JSX.Element {
  const servers = useMemo(() => layOut(root).servers, [root])
  const { node, links, listeners } = status
  return (
    <>
      <dl class="facts card">
        <dt>This server</dt>
        <dd>{node.id}</dd>
        <dt>Address</dt>
        <dd>
          <code>{node.address || 'none'}</code>
        </dd>
        <dt>Network</dt>
        <dd>{node.network}</dd>
        <dt>Inbound links</dt>
        <dd>{listeners.join(', ') || 'none'}</dd>
      </dl>
      <Graph root={root} links={links} />
      <h2>Links</h2>
      <Links links={links} />
      <h2>Servers</h2>
      <Table
        label="Servers"
        columns={COLUMNS}
        rows={servers}
        keyOf={({ server }) => server.id}
        sortedBy="hops"
      />
    </>
  )
}
