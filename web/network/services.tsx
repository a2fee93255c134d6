import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { RouteMessage } from '../../services/network/messages.ts'
import { Badge } from '../components/badge.tsx'
import { CallStatus } from '../components/call-status.tsx'
import { Search } from '../components/search.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import { Link } from '../state/router.ts'

const COLUMNS: readonly Column<RouteMessage>[] = [
  {
    ...{ id: 'service', title: 'Service', heading: true, sort: ({ service }) => service },
    render: ({ service }) => <Link to={`/services/${encodeURIComponent(service)}`}>{service}</Link>,
  },
  {
    ...{ id: 'server', title: 'Server', sort: toServer },
    render: (route) => (isLocal(route) ? <Badge tone="good">local</Badge> : toServer(route)),
  },
  {
    ...{ id: 'way', title: 'Path', minor: true, sort: ({ path }) => path.length },
    render: ({ path }) => path.join(' → ') || '–',
  },
  {
    ...{ id: 'cost', title: 'Cost', align: 'end', sort: ({ metric }) => metric },
    render: ({ metric }) => metric,
  },
]

/** Services reachable from this server, with the routes to them. */
export function NetworkServices(): JSX.Element {
  const [search, setSearch] = useState('')
  const [showLocal, setShowLocal] = useState(false)
  const read = useCall(readRoutes, [])
  const { value } = read
  usePolling(read)
  const matches = useMemo(() => {
    const words = search.toLowerCase().split(/\s+/)
    return (value ?? []).filter((route) => {
      if (!showLocal && isLocal(route)) return false
      const text = [route.service, ...route.path].join(' ').toLowerCase()
      return words.every((word) => text.includes(word))
    })
  }, [value, search, showLocal])
  return (
    <>
      <div class="network-bar">
        <h2>Services</h2>
        <label class="network-own">
          <input
            type="checkbox"
            checked={showLocal}
            onChange={({ currentTarget }) => setShowLocal(currentTarget.checked)}
          />
          Show local services
        </label>
        <Search
          label="Search services of the network"
          value={search}
          onInput={setSearch}
          count={matches.length}
        />
      </div>
      <CallStatus call={read} subject="network routes" />
      {value !== undefined && (
        <Table
          label="Services of the network"
          columns={COLUMNS}
          rows={matches}
          keyOf={({ service, path }) => [service, ...path].join(' ')}
          sortedBy="service"
          empty={
            <Empty title={search === '' ? 'No remote services' : `No services match “${search}”`} />
          }
        />
      )}
    </>
  )
}

async function readRoutes(signal: AbortSignal): Promise<readonly RouteMessage[]> {
  const routes: RouteMessage[] = []
  for (let after = ''; ; ) {
    const { body } = await call<{
      readonly routes: readonly RouteMessage[]
      readonly next?: string
    }>('network', 'Network.Routes', { after }, { signal })
    for (const route of body.routes) routes.push(route)
    if (body.next === undefined) return routes
    after = body.next
  }
}

function isLocal({ link }: RouteMessage): boolean {
  return link === 'local'
}

function toServer(route: RouteMessage): string {
  return isLocal(route) ? '' : (route.path.at(-1) ?? '')
}
