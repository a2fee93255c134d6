import { Fragment, type JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Endpoint, Service } from '../../core/contracts/registry.ts'
import { Badge } from '../components/badge.tsx'
import { Boundary } from '../components/boundary.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Search } from '../components/search.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useCall, useWatch } from '../hooks/use-call.ts'
import { useDebounce } from '../hooks/use-debounce.ts'
import { openStream } from '../rpc/caller.ts'
import { CallPanel } from '../service/call-panel.tsx'
import { DEBUG_ENDPOINTS } from '../service/debug-endpoints.ts'
import { toKind } from '../service/endpoint-kind.ts'
import { findService } from '../service/find-service.ts'
import { listEndpoints } from '../service/list-endpoints.ts'
import { Nodes } from '../services/nodes.tsx'
import type { RouteProps } from '../state/match-path.ts'
import { Link, path, query, setQuery } from '../state/router.ts'
import { namespace } from '../state/session.ts'
import '../style/service.css'

const TABS = [
  { id: 'call', title: 'Endpoints' },
  { id: 'nodes', title: 'Nodes' },
  { id: 'metadata', title: 'Metadata' },
]

/** Delay that merges the reload after a reconnect with the initial read. */
const DEBOUNCE_MS = 200

/** Endpoints of a service with call forms, and its nodes and metadata. */
export default function ServicePage({ parameters }: RouteProps): JSX.Element {
  const { name = '' } = parameters
  const space = namespace.value
  const { value, error, reload } = useCall(
    (signal) => findService(name, space, signal),
    [name, space],
  )
  const versions = value?.versions
  const domain = value?.domain
  const watch = useWatch(
    () =>
      domain === undefined
        ? undefined
        : openStream('registry', 'Registry.Watch', { service: name, options: { domain } }),
    reload,
    [name, domain],
    { onLive: useDebounce(reload, DEBOUNCE_MS) },
  )
  const tab = query.value.get('tab') ?? 'call'
  return (
    <Page
      title={name}
      about={versions === undefined ? undefined : describe(versions, watch.state === 'stale')}
      actions={
        <button type="button" onClick={reload}>
          Reload
        </button>
      }
    >
      {error !== undefined && (
        <Problem error={error} subject={`service ${name}`} onRetry={reload} />
      )}
      {versions === undefined && error === undefined && <Loading />}
      {versions !== undefined && (
        <Tabs
          label="Service"
          tabs={TABS}
          selected={tab}
          onSelect={(id) => setQuery('tab', id === 'call' ? '' : id)}
        >
          {tab === 'nodes' ? (
            <Nodes service={name} domain={domain!} versions={versions} />
          ) : tab === 'metadata' ? (
            <Metadata versions={versions} />
          ) : (
            <Endpoints service={name} versions={versions} />
          )}
        </Tabs>
      )}
    </Page>
  )
}

function describe(versions: readonly Service[], isStale: boolean): JSX.Element {
  const nodes = versions.reduce((sum, version) => sum + version.nodes.length, 0)
  return (
    <>
      {versions.map(({ version }) => (
        <Badge key={version}>{version}</Badge>
      ))}{' '}
      {nodes} {nodes === 1 ? 'node' : 'nodes'} {isStale && <Badge tone="warning">stale</Badge>}
    </>
  )
}

function Endpoints({
  service,
  versions,
}: {
  readonly service: string
  readonly versions: readonly Service[]
}): JSX.Element {
  const [search, setSearch] = useState('')
  const declared = useMemo(() => listEndpoints(versions), [versions])
  const all = [...declared, ...DEBUG_ENDPOINTS]
  const requested = query.value.get('endpoint')
  const selected = all.find(({ name }) => name === requested) ?? all[0]!
  const text = search.trim().toLowerCase()
  const results = all.filter(({ name, metadata }) =>
    `${name} ${metadata['description'] ?? ''}`.toLowerCase().includes(text),
  )
  return (
    <div class="service">
      <nav class="service-endpoints" aria-label="Endpoints">
        <Search
          label="Search endpoints"
          value={search}
          onInput={setSearch}
          count={results.length}
        />
        {declared.length === 0 && (
          <Empty title="No endpoints">The service does not publish its endpoints.</Empty>
        )}
        <ul>
          {results.map((endpoint) => (
            <li key={endpoint.name}>
              <EndpointLink endpoint={endpoint} isCurrent={endpoint === selected} />
            </li>
          ))}
        </ul>
      </nav>
      {requested !== null && selected.name !== requested ? (
        <Empty title={`${service} has no endpoint ${requested}`}>
          Select an endpoint from the list.
        </Empty>
      ) : (
        <Boundary key={selected.name} what={`The endpoint ${selected.name}`}>
          <CallPanel service={service} endpoint={selected} />
        </Boundary>
      )}
    </div>
  )
}

function EndpointLink({
  endpoint,
  isCurrent,
}: {
  readonly endpoint: Endpoint
  readonly isCurrent: boolean
}): JSX.Element {
  return (
    <Link to={`${path.value}?endpoint=${encodeURIComponent(endpoint.name)}`} current={isCurrent}>
      {endpoint.name}
      {toKind(endpoint) !== 'unary' && <Badge tone="accent">stream</Badge>}
    </Link>
  )
}

function Metadata({ versions }: { readonly versions: readonly Service[] }): JSX.Element {
  return (
    <>
      {versions.map(({ version, metadata }) => (
        <section key={version} aria-label={`Metadata of ${version}`}>
          <h2>{version}</h2>
          <dl class="facts">
            {Object.entries(metadata).map(([name, value]) => (
              <Fragment key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
    </>
  )
}
