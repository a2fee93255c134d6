import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Search } from '../components/search.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { type ServiceRow, searchRows, toRows } from '../services/service-rows.ts'
import { useEntries } from '../services/use-entries.ts'
import { Link, query, setQuery } from '../state/router.ts'
import { DEFAULT_NAMESPACE, namespace } from '../state/session.ts'

/** Registered services of the namespace and built-in services. */
export default function Services(): JSX.Element {
  const space = namespace.value
  const local = useEntries(space)
  const builtIn = useEntries(space === DEFAULT_NAMESPACE ? undefined : DEFAULT_NAMESPACE)
  const rows = useMemo(
    () =>
      local.entries === undefined && builtIn.entries === undefined
        ? undefined
        : toRows(new Map([...(builtIn.entries ?? []), ...(local.entries ?? [])])),
    [local.entries, builtIn.entries],
  )
  const text = query.value.get('search') ?? ''
  const results = useMemo(() => searchRows(rows ?? [], text), [rows, text])
  const isStale = local.state === 'stale' || builtIn.state === 'stale'
  return (
    <Page
      title="Services"
      about={rows === undefined ? undefined : describe(rows)}
      actions={
        <>
          {isStale && <Badge tone="warning">Stale</Badge>}
          <Search
            label="Search services"
            placeholder="Name, endpoint, node, key=value"
            value={text}
            onInput={(value) => setQuery('search', value)}
            count={results.length}
          />
        </>
      }
    >
      {local.error !== undefined && (
        <Problem error={local.error} subject={`services of ${space}`} onRetry={local.reload} />
      )}
      {rows === undefined ? (
        local.error === undefined && <Loading />
      ) : (
        <Table
          label="Services"
          columns={COLUMNS}
          rows={results}
          keyOf={({ key }) => key}
          sortedBy="name"
          empty={<NoServices text={text} />}
        />
      )}
    </Page>
  )
}

const COLUMNS: readonly Column<ServiceRow>[] = [
  {
    id: 'name',
    title: 'Name',
    heading: true,
    sort: ({ name }) => name,
    render: ({ name }) => <Link to={`/services/${encodeURIComponent(name)}`}>{name}</Link>,
  },
  {
    id: 'versions',
    title: 'Versions',
    sort: ({ versions }) => versions.at(-1),
    render: ({ versions }) => versions.map((version) => <Badge key={version}>{version}</Badge>),
  },
  {
    id: 'nodes',
    title: 'Nodes',
    align: 'end',
    sort: ({ nodes }) => nodes.length,
    render: ({ nodes, draining }) =>
      draining === 0 ? (
        nodes.length
      ) : (
        <>
          <Badge tone="warning">{draining} draining</Badge> {nodes.length}
        </>
      ),
  },
  {
    id: 'endpoints',
    title: 'Endpoints',
    align: 'end',
    sort: ({ endpoints }) => endpoints.length,
    render: ({ endpoints }) => <span title={endpoints.join('\n')}>{endpoints.length}</span>,
  },
  {
    id: 'namespace',
    title: 'Namespace',
    minor: true,
    sort: ({ domain }) => domain,
    render: ({ domain }) => domain,
  },
  {
    id: 'about',
    title: 'Description',
    minor: true,
    sort: ({ description }) => description,
    render: ({ description }) => <span title={description}>{description}</span>,
  },
]

function NoServices({ text }: { readonly text: string }): JSX.Element {
  if (text === '')
    return (
      <Empty title="No services">
        Deploy one with <code>mx run</code> or start one with the SDK.
      </Empty>
    )
  return (
    <Empty title={`No services match “${text}”`}>
      <button type="button" onClick={() => setQuery('search', '')}>
        Show all
      </button>
    </Empty>
  )
}

function describe(rows: readonly ServiceRow[]): string {
  const nodes = rows.reduce((sum, row) => sum + row.nodes.length, 0)
  return `${count(rows.length, 'service')}, ${count(nodes, 'node')}`
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}
