import type { JSX } from 'preact'
import { Badge } from '../components/badge.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { type AccessResult, describeScope, formatResource } from './rules.ts'

const COLUMNS: readonly Column<AccessResult>[] = [
  {
    ...{ id: 'account', title: 'Caller', sort: ({ account }) => account },
    render: ({ account }) => account || <span class="muted">anonymous</span>,
  },
  {
    ...{ id: 'endpoint', title: 'Endpoint', heading: true, sort: ({ endpoint }) => endpoint },
    render: ({ endpoint }) => <span class="mono">{endpoint}</span>,
  },
  {
    ...{ id: 'granted', title: 'Access', sort: ({ granted }) => (granted ? 'granted' : 'denied') },
    render: ({ granted }) => (
      <Badge tone={granted ? 'good' : 'bad'}>{granted ? 'granted' : 'denied'}</Badge>
    ),
  },
  {
    ...{ id: 'rule', title: 'Access rule', sort: ({ rule }) => rule?.id },
    render: ({ rule }) => rule?.id ?? <span class="muted">no matching rule</span>,
  },
  {
    ...{ id: 'why', title: 'Rule definition', minor: true },
    render: ({ rule, namespace }) =>
      rule !== undefined &&
      `${rule.access.toLowerCase()} ${formatResource(rule.resource)} to ${describeScope(rule.scope, namespace)}`,
  },
  {
    ...{ id: 'namespace', title: 'Namespace', minor: true, sort: ({ namespace }) => namespace },
    render: ({ namespace }) => namespace,
  },
]

/** Results of access checks. */
export function RulingTable({ rows }: { readonly rows: readonly AccessResult[] }): JSX.Element {
  const granted = rows.filter((row) => row.granted).length
  return (
    <>
      <p role="status">
        {granted} of {rows.length} granted
      </p>
      <Table
        label="Access test results"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ account, endpoint }) => `${account} ${endpoint}`}
      />
    </>
  )
}
