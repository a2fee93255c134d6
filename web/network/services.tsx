import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Problem } from '../components/problem.tsx'
import { Search } from '../components/search.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import { Link } from '../state/router.ts'
import type { NetworkRoute, RoutesPage } from './messages.ts'

const COLUMNS: readonly Column<NetworkRoute>[] = [
  {
    ...{ id: 'service', title: 'Service', heading: true, sort: ({ service }) => service },
    render: ({ service }) => <Link to={`/services/${encodeURIComponent(service)}`}>{service}</Link>,
  },
  {
    ...{ id: 'server', title: 'Server', sort: toServer },
    render: (route) => (isHere(route) ? <Badge tone="good">here</Badge> : toServer(route)),
  },
  {
    ...{ id: 'way', title: 'Way', minor: true, sort: ({ path }) => path.length },
    render: ({ path }) => path.join(' → ') || '–',
  },
  {
    ...{ id: 'cost', title: 'Cost', align: 'end', sort: ({ metric }) => metric },
    render: ({ metric }) => metric,
  },
]

/** The services that can be called from the server, and the ways to them. */
export function NetworkServices(): JSX.Element {
  const [wanted, setWanted] = useState('')
  const [withOwn, setWithOwn] = useState(false)
  const read = useCall(readRoutes, [])
  const { value, error, state, reload } = read
  usePolling(read)
  const found = useMemo(() => {
    const words = wanted.toLowerCase().split(/\s+/)
    return (value ?? []).filter((route) => {
      if (!withOwn && isHere(route)) return false
      const text = [route.service, ...route.path].join(' ').toLowerCase()
      return words.every((word) => text.includes(word))
    })
  }, [value, wanted, withOwn])
  return (
    <>
      <div class="network-bar">
        <h2>Services</h2>
        <label class="network-own">
          <input
            type="checkbox"
            checked={withOwn}
            onChange={({ currentTarget }) => setWithOwn(currentTarget.checked)}
          />
          Also those that are here
        </label>
        <Search
          label="Search services of the network"
          value={wanted}
          onInput={setWanted}
          count={found.length}
        />
      </div>
      {error !== undefined && (
        <Problem error={error} asked="the ways to services" onRetry={reload} />
      )}
      {value === undefined && state === 'loading' && <Loading />}
      {value !== undefined && (
        <Table
          label="Services of the network"
          columns={COLUMNS}
          rows={found}
          keyOf={({ service, path }) => [service, ...path].join(' ')}
          sortedBy="service"
          empty={
            <Empty
              title={wanted === '' ? 'No other server has a service' : `Nothing matches ${wanted}`}
            />
          }
        />
      )}
    </>
  )
}

/** All pages of the list. */
async function readRoutes(signal: AbortSignal): Promise<readonly NetworkRoute[]> {
  const routes: NetworkRoute[] = []
  for (let after = ''; ; ) {
    const { body } = await call<RoutesPage>('network', 'Network.Routes', { after }, { signal })
    for (const route of body.routes) routes.push(route)
    if (body.next === undefined) return routes
    after = body.next
  }
}

function isHere({ link }: NetworkRoute): boolean {
  return link === 'local'
}

function toServer(route: NetworkRoute): string {
  return isHere(route) ? '' : (route.path.at(-1) ?? '')
}
