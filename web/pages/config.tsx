import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Tab, Tabs } from '../components/tabs.tsx'
import { ConfigTree } from '../config/config-tree.tsx'
import { History } from '../config/history.tsx'
import { NewValue } from '../config/new-value.tsx'
import { PathView } from '../config/path-view.tsx'
import type { Reading } from '../config/service.ts'
import { type ConfigNode, findNode, parseTree } from '../config/tree.ts'
import { useWatch } from '../hooks/use-call.ts'
import { openStream } from '../rpc/caller.ts'
import { query, setQuery } from '../state/router.ts'
import { namespace } from '../state/session.ts'
import '../style/config.css'

const TABS: readonly Tab[] = [
  { id: 'values', title: 'Values' },
  { id: 'history', title: 'History' },
]

/** Configuration of the namespace: values, secrets and history. */
export default function Config(): JSX.Element {
  const [reading, setReading] = useState<Reading>()
  const root = useMemo(
    () => (reading === undefined ? undefined : parseTree(reading.value.data)),
    [reading],
  )
  const watch = useWatch<Reading>(
    () => openStream('config', 'Config.Watch', { path: '' }),
    setReading,
    [],
  )
  const tab = query.value.get('tab') ?? 'values'
  return (
    <Page
      title="Config"
      about={`Namespace ${namespace.value}${reading === undefined ? '' : `, version ${reading.version}`}`}
    >
      {watch.state === 'failed' && watch.error !== undefined && (
        <Problem
          error={watch.error}
          subject={`config of ${namespace.value}`}
          onRetry={watch.restart}
        />
      )}
      {root === undefined && watch.state !== 'failed' && <Loading />}
      {root !== undefined && (
        <Tabs
          label="Config"
          tabs={TABS}
          selected={tab}
          onSelect={(id) => setQuery('tab', id === 'values' ? '' : id)}
        >
          {tab === 'history' ? (
            <History root={root} version={reading!.version} />
          ) : (
            <Values root={root} />
          )}
        </Tabs>
      )}
    </Page>
  )
}

function Values({ root }: { readonly root: ConfigNode }): JSX.Element {
  const [isAdding, setAdding] = useState(false)
  const path = query.value.get('path') ?? ''
  const node = path === '' ? undefined : findNode(root, path)
  const select = (next: string): void => {
    setAdding(false)
    setQuery('path', next)
  }
  const isEmpty = root.kind === 'map' && root.children.size === 0
  return (
    <div class="config-values">
      <div class="config-side">
        <button type="button" aria-pressed={isAdding} onClick={() => setAdding(!isAdding)}>
          New value
        </button>
        {isEmpty ? (
          <Empty title="No values yet" />
        ) : (
          <ConfigTree root={root} selected={path} onSelect={select} />
        )}
      </div>
      <div class="config-place">
        {isAdding ? (
          <>
            <h2>New value</h2>
            <NewValue root={root} below={node?.kind === 'map' ? path : ''} onSet={select} />
          </>
        ) : path === '' ? (
          <Empty title="Select a value to view and edit it" />
        ) : (
          <PathView key={path} path={path} node={node} onDeleted={() => select('')} />
        )}
      </div>
    </div>
  )
}
