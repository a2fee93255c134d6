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
  /** What there is now. */
  readonly root: ConfigNode
  readonly version: number
}

/** The versions that are kept, what is different in them, and how to go back. */
export function History({ root, version }: HistoryProps): JSX.Element {
  const [chosen, setChosen] = useState<number>()
  const { state, value, error, reload } = useCall(readHistory, [namespace.value, version])
  const columns = useMemo(() => toColumns(setChosen), [])
  if (error !== undefined)
    return <Problem error={error} asked="the history of the configuration" onRetry={reload} />
  if (value === undefined || state === 'loading') return <Loading />
  return (
    <div class="config-history">
      <Table
        label="Versions"
        columns={columns}
        rows={value}
        keyOf={({ version }) => String(version)}
        empty={<Empty title="Nothing was changed yet" />}
      />
      {chosen !== undefined && <Comparison key={chosen} version={chosen} root={root} />}
    </div>
  )
}

function toColumns(onChoose: (version: number) => void): readonly Column<ConfigVersion>[] {
  return [
    {
      ...{ id: 'version', title: 'Version', heading: true, sort: ({ version }) => version },
      render: ({ version }) => (
        <button type="button" class="quiet config-version" onClick={() => onChoose(version)}>
          {version}
        </button>
      ),
    },
    {
      ...{ id: 'time', title: 'When', sort: ({ timestamp }) => timestamp },
      render: ({ timestamp }) => <Time ms={timestamp * 1000} />,
    },
    {
      id: 'account',
      minor: true,
      title: 'Who',
      sort: ({ account }) => account,
      render: ({ account }) => account || '–',
    },
    { id: 'action', title: 'What', minor: true, render: ({ action }) => action },
    {
      ...{ id: 'path', title: 'Path', sort: ({ path }) => path },
      render: ({ path, secret }) => `${path || 'everything'}${secret ? ' (secret)' : ''}`,
    },
  ]
}

const DIFFERENCES: readonly Column<ConfigDifference>[] = [
  { id: 'path', title: 'Path', heading: true, render: ({ path }) => path || 'everything' },
  { id: 'before', title: 'Then', render: ({ before }) => before ?? '–' },
  { id: 'after', title: 'Now', render: ({ after }) => after ?? '–' },
]

/** What is different since a version. */
function Comparison({ version, root }: HistoryProps): JSX.Element {
  const [isAsking, setAsking] = useState(false)
  const { value, error, reload } = useCall((signal) => readVersion(version, signal), [version])
  const differences = useMemo(
    () => (value === undefined ? [] : diffTrees(parseTree(value.value.data), root)),
    [value, root],
  )
  if (error !== undefined)
    return <Problem error={error} asked={`version ${version}`} onRetry={reload} />
  if (value === undefined) return <Loading />
  return (
    <section aria-label={`Version ${version}`}>
      <h2>Since version {version}</h2>
      <Table
        label={`What is different since version ${version}`}
        columns={DIFFERENCES}
        rows={differences}
        keyOf={({ path }) => path}
        empty={<Empty title="Nothing is different, but for secrets, which look alike" />}
      />
      <div class="form-actions">
        <button type="button" onClick={() => setAsking(true)}>
          Roll back to version {version}
        </button>
      </div>
      {isAsking && (
        <Confirm
          title={`Roll back to version ${version}?`}
          action="Roll back"
          onConfirm={async () => {
            const made = await rollBack(version)
            showToast(`Back to version ${version}, as version ${made}`)
          }}
          onClose={() => setAsking(false)}
        >
          <p>
            All of the configuration of the namespace {namespace.value} becomes what it was then,
            secrets too, as a version of its own.
          </p>
        </Confirm>
      )}
    </section>
  )
}
