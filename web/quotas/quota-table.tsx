import type { JSX } from 'preact'
import { Badge } from '../components/badge.tsx'
import { CallStatus } from '../components/call-status.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { Time } from '../components/time/time.tsx'
import { useCall } from '../hooks/use-call.ts'
import { call } from '../rpc/caller.ts'
import { readUsage, toPercent, type UsageMessage, type UsagePage } from './usage.ts'

const COLUMNS: readonly Column<UsageMessage>[] = [
  {
    ...{ id: 'account', title: 'Account', heading: true, sort: ({ account }) => account },
    render: ({ account }) => account,
  },
  {
    ...{ id: 'key', title: 'API key', minor: true, sort: ({ api_key }) => api_key },
    render: ({ api_key }) => api_key || <span class="muted">all</span>,
  },
  { id: 'quota', title: 'Quota', sort: ({ quota }) => quota, render: ({ quota }) => quota },
  { id: 'period', title: 'Period', sort: ({ period }) => period, render: ({ period }) => period },
  {
    ...{ id: 'used', title: 'Used', align: 'end', sort: toPercent },
    render: (usage) => (
      <>
        {usage.used.toLocaleString('en')} of {usage.limit.toLocaleString('en')}{' '}
        <Badge tone={toTone(usage)}>{toPercent(usage)} %</Badge>
      </>
    ),
  },
  {
    ...{ id: 'ends', title: 'Ends', minor: true, sort: ({ ends }) => ends },
    render: ({ ends }) => <Time ms={ends * 1000} />,
  },
]

/** Requests counted by the plugin `quota` in the current day and month. */
export function QuotaTable(): JSX.Element {
  const usage = useCall(
    (signal) =>
      readUsage(async (period, after) => {
        const request = { period, after }
        const page = await call<UsagePage>('auth', 'RequestQuotas.List', request, { signal })
        return page.body
      }),
    [],
  )
  return (
    <div class="records">
      <CallStatus call={usage} subject="list of quotas (auth RequestQuotas.List)" />
      {usage.value !== undefined && (
        <Table
          label="Quotas"
          columns={COLUMNS}
          rows={usage.value}
          keyOf={({ quota, period, account, api_key }) =>
            [quota, period, account, api_key].join(' ')
          }
          sortedBy="account"
          empty={<Empty title="No counted requests" />}
        />
      )}
    </div>
  )
}

function toTone(usage: UsageMessage): 'bad' | 'warning' | 'neutral' {
  const percent = toPercent(usage)
  return percent >= 100 ? 'bad' : percent >= 80 ? 'warning' : 'neutral'
}
