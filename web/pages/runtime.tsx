import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { CallStatus } from '../components/call-status.tsx'
import { Page } from '../components/page.tsx'
import { Search } from '../components/search.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { Time } from '../components/time/time.tsx'
import { type RuntimeObject, toObjectPath, toPhase } from '../runtime/objects.ts'
import { PhaseBadge } from '../runtime/phase-badge.tsx'
import { useObjects } from '../runtime/use-objects.ts'
import { Link } from '../state/router.ts'
import { namespace } from '../state/session.ts'

const COMMIT_LENGTH = 7

const COLUMNS: readonly Column<RuntimeObject>[] = [
  {
    ...{ id: 'name', title: 'Name', heading: true, sort: ({ name }) => name },
    render: (object) => <Link to={toObjectPath(object)}>{object.name}</Link>,
  },
  {
    ...{ id: 'version', title: 'Version', sort: ({ version }) => version },
    render: ({ version }) => version,
  },
  {
    ...{ id: 'status', title: 'Status', sort: (object) => toPhase(object).text },
    render: (object) => <PhaseBadge object={object} />,
  },
  {
    ...{ id: 'started', title: 'Started', sort: toStarted },
    render: (object) => <Time ms={toStarted(object) ?? Number.NaN} />,
  },
  {
    ...{ id: 'source', title: 'Source', minor: true },
    render: ({ source, metadata }) => metadata['source'] || source,
  },
  {
    ...{ id: 'commit', title: 'Commit', minor: true },
    render: ({ metadata }) => metadata['commit']?.slice(0, COMMIT_LENGTH) ?? '–',
  },
  {
    ...{ id: 'error', title: 'Error', minor: true },
    render: ({ metadata }) => metadata['error']?.split('\n')[0] ?? '',
  },
]

/** Runtime objects of the namespace. */
export default function Runtime(): JSX.Element {
  const [search, setSearch] = useState('')
  const read = useObjects()
  const { value } = read
  const results = useMemo(() => {
    const words = search.toLowerCase().split(/\s+/)
    return (value ?? []).filter(({ name, version, source }) => {
      const text = `${name}@${version} ${source}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
  }, [value, search])

  return (
    <Page
      title="Runtime"
      about={`Deployed services of the namespace ${namespace.value}`}
      actions={
        <Search label="Search services" value={search} onInput={setSearch} count={results.length} />
      }
    >
      <CallStatus call={read} subject="deployed services" />
      {value !== undefined && (
        <Table
          label="Deployed services"
          columns={COLUMNS}
          rows={results}
          keyOf={toObjectPath}
          sortedBy="name"
          empty={
            value.length === 0 ? (
              <Empty title="No deployed services">
                Deploy a folder with <code>mx run ./folder</code>.
              </Empty>
            ) : (
              <Empty title={`No services match “${search}”`} />
            )
          }
        />
      )}
    </Page>
  )
}

function toStarted({ metadata }: RuntimeObject): number | undefined {
  const ms = Date.parse(metadata['started'] ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
