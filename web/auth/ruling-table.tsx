import type { JSX } from 'preact'
import { Badge } from '../components/badge.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { type Answered, describeScope, formatResource } from './rules.ts'

const COLUMNS: readonly Column<Answered>[] = [
  {
    ...{ id: 'account', title: 'Who', sort: ({ account }) => account },
    render: ({ account }) => account || <span class="muted">nobody</span>,
  },
  {
    ...{ id: 'endpoint', title: 'Endpoint', heading: true, sort: ({ endpoint }) => endpoint },
    render: ({ endpoint }) => <span class="mono">{endpoint}</span>,
  },
  {
    ...{ id: 'granted', title: 'Call', sort: ({ granted }) => (granted ? 'granted' : 'denied') },
    render: ({ granted }) => (
      <Badge tone={granted ? 'good' : 'bad'}>{granted ? 'granted' : 'denied'}</Badge>
    ),
  },
  {
    ...{ id: 'rule', title: 'By the rule', sort: ({ rule }) => rule?.id },
    render: ({ rule }) => rule?.id ?? <span class="muted">no rule applies</span>,
  },
  {
    ...{ id: 'why', title: 'Which says', minor: true },
    render: ({ rule, namespace }) =>
      rule !== undefined &&
      `${rule.access.toLowerCase()} ${formatResource(rule.resource)} to ${describeScope(rule.scope, namespace)}`,
  },
  {
    ...{ id: 'namespace', title: 'Rules of', minor: true, sort: ({ namespace }) => namespace },
    render: ({ namespace }) => namespace,
  },
]

/** What the rules said, of each question. */
export function RulingTable({ rows }: { readonly rows: readonly Answered[] }): JSX.Element {
  const granted = rows.filter((row) => row.granted).length
  return (
    <>
      <p role="status">
        {granted} of {rows.length} granted
      </p>
      <Table
        label="What the rules say"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ account, endpoint }) => `${account} ${endpoint}`}
      />
    </>
  )
}
