import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CallStatus } from '../components/call-status.tsx'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Empty } from '../components/states.tsx'
import { type Tab, Tabs } from '../components/tabs.tsx'
import { BuildOutput } from '../runtime/build-output.tsx'
import { Facts } from '../runtime/facts.tsx'
import { LogView } from '../runtime/log-view.tsx'
import { ObjectActions } from '../runtime/object-actions.tsx'
import { findTarget, type RuntimeObject, toObjectPath } from '../runtime/objects.ts'
import { PhaseBadge } from '../runtime/phase-badge.tsx'
import { useObjects } from '../runtime/use-objects.ts'
import type { RouteProps } from '../state/match-path.ts'
import { Link, query, setQuery } from '../state/router.ts'
import { isAdmin } from '../state/session-scopes.ts'
import '../style/runtime.css'

const TABS: readonly Tab[] = [
  { id: 'log', title: 'Log' },
  { id: 'build', title: 'Build' },
  { id: 'facts', title: 'Details' },
]

/** Status, log, build output and actions of a runtime object. */
export default function RuntimeObjectPage({ parameters }: RouteProps): JSX.Element {
  const { name = '' } = parameters
  return <ObjectPage key={name} name={name} />
}

function ObjectPage({ name }: { readonly name: string }): JSX.Element {
  const version = query.value.get('version') ?? ''
  const read = useObjects({ service: name })
  const { value, error, reload } = read
  const object = value === undefined ? undefined : findTarget(value, version)
  const title = version === '' ? name : `${name}@${version}`

  if (object === undefined)
    return (
      <Page title={title}>
        <CallStatus call={read} subject={`status of ${title}`} />
        {value !== undefined && <NotFound title={title} versions={value} />}
      </Page>
    )
  return (
    <Page
      title={title}
      about={
        <>
          <PhaseBadge object={object} />
          {!isAdmin() &&
            ' Viewing the log and managing the object require the admin scope in this namespace.'}
        </>
      }
      actions={<ObjectActions object={object} />}
    >
      {error !== undefined && (
        <Problem error={error} subject={`status of ${title}`} onRetry={reload} />
      )}
      {object.metadata['error'] && <pre class="runtime-error">{object.metadata['error']}</pre>}
      <ObjectTabs key={toObjectPath(object)} object={object} />
    </Page>
  )
}

function ObjectTabs({ object }: { readonly object: RuntimeObject }): JSX.Element {
  const { name, version } = object
  const [selected, setSelected] = useState(query.peek().get('tab') ?? 'log')
  const select = (id: string): void => {
    setSelected(id)
    setQuery('tab', id === 'log' ? '' : id)
  }
  return (
    <Tabs label={name} tabs={TABS} selected={selected} onSelect={select}>
      {selected === 'log' && <LogView name={name} version={version} />}
      {selected === 'build' && <BuildOutput object={object} />}
      {selected === 'facts' && <Facts object={object} />}
    </Tabs>
  )
}

/** @param versions other objects with the same name. */
function NotFound({
  title,
  versions,
}: {
  readonly title: string
  readonly versions: readonly RuntimeObject[]
}): JSX.Element {
  return (
    <Empty title={`${title} not found`}>
      {versions.length === 0 ? (
        <p>
          It was killed or never deployed in this namespace. <Link to="/runtime">Runtime</Link>
        </p>
      ) : (
        <ul>
          {versions.map((object) => (
            <li key={object.version}>
              <Link to={toObjectPath(object)}>{`${object.name}@${object.version}`}</Link>
            </li>
          ))}
        </ul>
      )}
    </Empty>
  )
}
