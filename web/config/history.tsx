import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Problem } from '../components/problem.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { Time } from '../components/time/time.tsx'
import { showToast } from '../components/toast.tsx'
import { useCall } from '../hooks/use-call.ts'
import { namespace } from '../state/session.ts'
import { type ConfigVersion, readHistory, readVersion, rollBack } from './service.ts'
import { type ConfigDifference, type ConfigNode, diffTrees, parseTree } from './tree.ts'

export interface HistoryProps {
  /** Current values. */
  readonly root: ConfigNode
  readonly version: number
}

/** Retained versions, which can be compared and rolled back to. */
export function History({ root, version }: HistoryProps): JSX.Element {
  const [selected, setSelected] = useState<number>()
  const { state, value, error, reload } = useCall(readHistory, [namespace.value, version])
  const columns = useMemo(() => toColumns(setSelected), [])
  if (error !== undefined)
    return <Problem error={error} subject="config history" onRetry={reload} />
  if (value === undefined || state === 'loading') return <Loading />
  return (
    <div class="config-history">
      <Table
        label="Versions"
        columns={columns}
        rows={value}
        keyOf={({ version }) => String(version)}
        empty={<Empty title="No changes yet" />}
      />
      {selected !== undefined && <Comparison key={selected} version={selected} root={root} />}
    </div>
  )
}

function toColumns(onSelect: (version: number) => void): readonly Column<ConfigVersion>[] {
  return [
    {
      ...{ id: 'version', title: 'Version', heading: true, sort: ({ version }) => version },
      render: ({ version }) => (
        <button type="button" class="quiet config-version" onClick={() => onSelect(version)}>
          {version}
        </button>
      ),
    },
    {
      ...{ id: 'time', title: 'Time', sort: ({ timestamp }) => timestamp },
      render: ({ timestamp }) => <Time ms={timestamp * 1000} />,
    },
    {
      id: 'account',
      minor: true,
      title: 'Account',
      sort: ({ account }) => account,
      render: ({ account }) => account || '–',
    },
    { id: 'action', title: 'Action', minor: true, render: ({ action }) => action },
    {
      ...{ id: 'path', title: 'Path', sort: ({ path }) => path },
      render: ({ path, secret }) => `${path || 'all'}${secret ? ' (secret)' : ''}`,
    },
  ]
}

const DIFFERENCES: readonly Column<ConfigDifference>[] = [
  { id: 'path', title: 'Path', heading: true, render: ({ path }) => path || 'all' },
  { id: 'before', title: 'Before', render: ({ before }) => before ?? '–' },
  { id: 'after', title: 'Current', render: ({ after }) => after ?? '–' },
]

/** Differences between a version and the current values. */
function Comparison({ version, root }: HistoryProps): JSX.Element {
  const [isConfirming, setConfirming] = useState(false)
  const { value, error, reload } = useCall((signal) => readVersion(version, signal), [version])
  const differences = useMemo(
    () => (value === undefined ? [] : diffTrees(parseTree(value.value.data), root)),
    [value, root],
  )
  if (error !== undefined)
    return <Problem error={error} subject={`version ${version}`} onRetry={reload} />
  if (value === undefined) return <Loading />
  return (
    <section aria-label={`Version ${version}`}>
      <h2>Changes since version {version}</h2>
      <Table
        label={`Changes since version ${version}`}
        columns={DIFFERENCES}
        rows={differences}
        keyOf={({ path }) => path}
        empty={<Empty title="No differences. Secrets are not compared." />}
      />
      <div class="form-actions">
        <button type="button" onClick={() => setConfirming(true)}>
          Roll back to version {version}
        </button>
      </div>
      {isConfirming && (
        <Confirm
          title={`Roll back to version ${version}?`}
          action="Roll back"
          onConfirm={async () => {
            const created = await rollBack(version)
            showToast(`Rolled back to version ${version} as version ${created}`)
          }}
          onClose={() => setConfirming(false)}
        >
          <p>
            Restores all values and secrets of the namespace {namespace.value} as a new version.
          </p>
        </Confirm>
      )}
    </section>
  )
}
