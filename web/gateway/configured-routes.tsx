import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type {
  ConfiguredRouteMessage,
  ConfiguredRoutesPage,
} from '../../services/gateway/configured-routes.ts'
import { Badge } from '../components/badge.tsx'
import { Problem } from '../components/problem.tsx'
import { Search } from '../components/search.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import { saveDraft } from '../state/draft-storage.ts'
import { setQuery } from '../state/router.ts'
import { toExampleRequest } from './example-request.ts'
import { EXPLAIN_DRAFT } from './explain-draft.ts'
import { SourceLine } from './source-line.tsx'

const REFRESH_MS = 15_000
const LIMIT = 100

const COLUMNS: readonly Column<ConfiguredRouteMessage>[] = [
  {
    ...{ id: 'name', title: 'Name', heading: true },
    render: ({ name, source }) => (
      <>
        {name} <SourceLine source={source} />
      </>
    ),
  },
  {
    ...{ id: 'match', title: 'Match' },
    render: ({ paths, hosts, methods, conditions }) => (
      <>
        {methods.length > 0 && `${methods.join(', ')} `}
        <code>{paths.join(', ')}</code>
        {hosts.length > 0 && ` on ${hosts.join(', ')}`}
        {conditions.length > 0 && ` if ${conditions.join(' and ')}`}
      </>
    ),
  },
  { ...{ id: 'action', title: 'Action' }, render: ({ action }) => action },
  {
    ...{ id: 'plugins', title: 'Plugins', minor: true },
    render: ({ plugins }) =>
      plugins.length === 0
        ? '–'
        : plugins.map(({ name, scope, source }) => (
            <span key={name}>
              <Badge tone={scope === 'route' ? 'accent' : 'neutral'}>
                {name} ({scope})
              </Badge>{' '}
              <SourceLine source={source} />{' '}
            </span>
          )),
  },
  {
    ...{ id: 'explain', title: 'Explain' },
    render: (route) => (
      <button type="button" onClick={() => explain(route)}>
        Explain
      </button>
    ),
  },
]

/** Routes of the configuration, for operators. Renders nothing for gateways without any. */
export function ConfiguredRoutes(): JSX.Element | null {
  const [search, setSearch] = useState('')
  const read = useCall(
    async (signal) => {
      const request = { search, limit: LIMIT }
      const { body } = await call<ConfiguredRoutesPage>('api', 'Api.ConfiguredRoutes', request, {
        signal,
      })
      return body
    },
    [search],
  )
  const { value, error, reload } = read
  usePolling(read, REFRESH_MS)
  // Members see only the routes to services.
  if (error?.code === 403 || (value?.total === 0 && search === '')) return null
  return (
    <div class="gateway-tab">
      <div class="gateway-bar">
        <p class="muted">Routes from the configuration, which take precedence over all others</p>
        <Search
          label="Search configured routes"
          value={search}
          onInput={setSearch}
          count={value?.total ?? 0}
        />
      </div>
      {error !== undefined && (
        <Problem error={error} subject="configured routes" onRetry={reload} />
      )}
      {value !== undefined && (
        <Table
          label="Configured routes"
          columns={COLUMNS}
          rows={value.routes}
          keyOf={({ name }) => name}
          empty={<p>No configured routes match “{search}”</p>}
        />
      )}
      {value !== undefined && value.total > value.routes.length && (
        <p class="muted">{value.total - value.routes.length} more: refine the search.</p>
      )}
    </div>
  )
}

/** Opens the form with a request that may match the route. */
function explain(route: ConfiguredRouteMessage): void {
  saveDraft(EXPLAIN_DRAFT, toExampleRequest(route))
  setQuery('tab', 'explain')
}
