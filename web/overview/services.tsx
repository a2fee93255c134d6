import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { isBuiltInService } from '../../core/registry/built-in-services.ts'
import { Problem } from '../components/problem.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { formatCount, formatDuration } from '../components/time/format.ts'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import { type ServiceRow, toRows } from '../services/service-rows.ts'
import { useEntries } from '../services/use-entries.ts'
import { Link } from '../state/router.ts'
import { DEFAULT_NAMESPACE, namespace } from '../state/session.ts'

/** Request statistics of a service over the last minute (`Api.Services`). */
interface ServiceStats {
  readonly service: string
  readonly requests_per_second: number
  /** Share of 5xx responses, from 0 to 1. */
  readonly error_share?: number
  readonly p50_ms?: number
  readonly p99_ms?: number
}

interface Row extends ServiceRow {
  readonly stats: ServiceStats | undefined
}

/** Services of the namespace, except built-in ones, with request rate, error rate and latency. */
export function Services(): JSX.Element {
  const space = namespace.value
  const { entries, error, reload } = useEntries(space)
  const stats = useCall(
    (signal) =>
      call<{ readonly services?: readonly ServiceStats[] }>(
        'api',
        'Api.Services',
        {},
        { namespace: DEFAULT_NAMESPACE, signal },
      ),
    [],
  )
  usePolling(stats)
  const services = stats.value?.body.services
  const rows = useMemo(
    () => (entries === undefined ? undefined : join(toRows(entries), services ?? [], space)),
    [entries, services, space],
  )
  return (
    <section class="card" aria-labelledby="services">
      <h2 id="services">Services</h2>
      {error !== undefined && (
        <Problem error={error} subject={`services of ${space}`} onRetry={reload} />
      )}
      {rows === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Table
          label="Services of the namespace"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ key }) => key}
          empty={
            <Empty title="No services yet">
              Deploy one with <code>mx run</code> or start one with the SDK.
            </Empty>
          }
        />
      )}
    </section>
  )
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'name',
    title: 'Name',
    heading: true,
    sort: ({ name }) => name,
    render: ({ name }) => <Link to={`/services/${encodeURIComponent(name)}`}>{name}</Link>,
  },
  {
    id: 'nodes',
    title: 'Nodes',
    align: 'end',
    minor: true,
    sort: ({ nodes }) => nodes.length,
    render: ({ nodes }) => nodes.length,
  },
  toColumn(
    'rate',
    'Requests/s',
    ({ requests_per_second }) => requests_per_second,
    (rate) => formatCount(rate),
  ),
  toColumn(
    'errors',
    'Errors (5xx)',
    ({ error_share }) => error_share,
    (share) => `${(share * 100).toFixed(1)} %`,
  ),
  toColumn('p50', 'p50', ({ p50_ms }) => p50_ms, formatDuration),
  toColumn('p99', 'p99', ({ p99_ms }) => p99_ms, formatDuration),
]

function toColumn(
  id: string,
  title: string,
  of: (stats: ServiceStats) => number | undefined,
  format: (value: number) => string,
): Column<Row> {
  const read = ({ stats }: Row): number | undefined => (stats === undefined ? undefined : of(stats))
  return {
    ...{ id, title, align: 'end', sort: (row) => read(row) ?? -1 },
    render: (row) => {
      const value = read(row)
      return value === undefined ? '–' : format(value)
    },
  }
}

function join(
  rows: readonly ServiceRow[],
  services: readonly ServiceStats[],
  space: string,
): readonly Row[] {
  const byName = new Map(services.map((each) => [each.service, each]))
  const prefix = space === DEFAULT_NAMESPACE ? '' : `${space}/`
  return rows
    .filter(({ name }) => !isBuiltInService(name))
    .map((row) => ({ ...row, stats: byName.get(prefix + row.name) }))
}
