import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { RouteMessage, RoutesPage } from '../../services/gateway/messages.ts'
import { Badge } from '../components/badge.tsx'
import { CallStatus } from '../components/call-status.tsx'
import { Search } from '../components/search.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import { Link } from '../state/router.ts'
import { ConfiguredRoutes } from './configured-routes.tsx'

const REFRESH_MS = 15_000

const COLUMNS: readonly Column<RouteMessage>[] = [
  {
    ...{ id: 'path', title: 'Path', heading: true, sort: ({ path }) => path },
    render: ({ path }) => <code>{path}</code>,
  },
  {
    ...{ id: 'methods', title: 'Methods', sort: ({ methods }) => methods.join(', ') },
    render: ({ methods }) => methods.join(', ') || 'any',
  },
  {
    ...{ id: 'hosts', title: 'Hosts', minor: true, sort: ({ hosts }) => hosts.join(', ') },
    render: ({ hosts }) => hosts.join(', ') || 'any',
  },
  {
    ...{ id: 'service', title: 'Service', sort: ({ service }) => service },
    render: ({ service }) => <Link to={`/services/${encodeURIComponent(service)}`}>{service}</Link>,
  },
  {
    ...{ id: 'endpoint', title: 'Endpoint', sort: ({ endpoint }) => endpoint },
    render: ({ endpoint }) => endpoint || '–',
  },
  {
    ...{ id: 'handler', title: 'Handler', minor: true, sort: ({ handler }) => handler },
    render: ({ handler }) => handler,
  },
  {
    ...{ id: 'declared', title: 'Source', minor: true, sort: ({ declared }) => Number(declared) },
    render: ({ declared }) => (
      <Badge tone={declared ? 'accent' : 'neutral'}>{declared ? 'declared' : 'by name'}</Badge>
    ),
  },
]

/** Routing table of the gateway. */
export function Routes(): JSX.Element {
  const [search, setSearch] = useState('')
  const read = useCall(readRoutes, [])
  const { value } = read
  usePolling(read, REFRESH_MS)
  const matches = useMemo(() => {
    const words = search.toLowerCase().split(/\s+/)
    return (value?.routes ?? []).filter(({ path, service, endpoint, methods, hosts, handler }) => {
      const text = [path, service, endpoint, handler, ...methods, ...hosts].join(' ').toLowerCase()
      return words.every((word) => text.includes(word))
    })
  }, [value, search])
  return (
    <div class="gateway-tab">
      <ConfiguredRoutes />
      <CallStatus call={read} subject="gateway routes" />
      {value !== undefined && (
        <>
          <div class="gateway-bar">
            <p class="muted">
              Handler <b>{value.handler}</b>, resolver <b>{value.resolver}</b>, namespace{' '}
              <b>{value.namespace || 'none'}</b>
            </p>
            <Search
              label="Search routes"
              value={search}
              onInput={setSearch}
              count={matches.length}
            />
          </div>
          <LeftOut problems={value.left_out} />
          <Table
            label="Routes"
            columns={COLUMNS}
            rows={matches}
            keyOf={toKey}
            sortedBy="path"
            empty={
              value.routes.length === 0 ? (
                <Empty title="No routes">
                  No services are registered, or the resolver {value.resolver} does not route by
                  path.
                </Empty>
              ) : (
                <Empty title={`No routes match “${search}”`} />
              )
            }
          />
        </>
      )}
    </div>
  )
}

function LeftOut({ problems }: { readonly problems: readonly string[] }): JSX.Element | null {
  if (problems.length === 0) return null
  return (
    <details class="gateway-left-out">
      <summary>
        {problems.length} declared {problems.length === 1 ? 'route' : 'routes'} skipped
      </summary>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </details>
  )
}

async function readRoutes(signal: AbortSignal): Promise<RoutesPage> {
  const routes: RouteMessage[] = []
  const left_out: string[] = []
  for (let after = ''; ; ) {
    const { body } = await call<RoutesPage>('api', 'Api.Routes', { after }, { signal })
    for (const route of body.routes) routes.push(route)
    left_out.push(...body.left_out)
    if (body.next === undefined) return { ...body, routes, left_out }
    after = body.next
  }
}

function toKey({ service, endpoint, path, methods, hosts }: RouteMessage): string {
  return JSON.stringify([service, endpoint, path, methods, hosts])
}
