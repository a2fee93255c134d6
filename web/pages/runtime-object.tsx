import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Page } from '../components/page.tsx'
import { Problem } from '../components/problem.tsx'
import { Empty, Loading } from '../components/states.tsx'
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

/** One runtime object: how it is, what it writes, and what can be done with it. */
export default function RuntimeObjectPage({ parameters }: RouteProps): JSX.Element {
  const { name = '' } = parameters
  return <ObjectPage key={name} name={name} />
}

function ObjectPage({ name }: { readonly name: string }): JSX.Element {
  const version = query.value.get('version') ?? ''
  const { state, value, error, reload } = useObjects({ service: name })
  const object = value === undefined ? undefined : findTarget(value, version)
  const title = version === '' ? name : `${name}@${version}`

  if (object === undefined)
    return (
      <Page title={title}>
        {error !== undefined && (
          <Problem error={error} asked={`how ${title} is`} onRetry={reload} />
        )}
        {value === undefined && state === 'loading' && <Loading />}
        {value !== undefined && <NotFound title={title} others={value} />}
      </Page>
    )
  return (
    <Page
      title={title}
      about={
        <>
          <PhaseBadge object={object} />
          {!isAdmin() &&
            ' Its log, updates and killing are for administrators of the namespace: this account has not the scope admin.'}
        </>
      }
      actions={<ObjectActions object={object} />}
    >
      {error !== undefined && <Problem error={error} asked={`how ${title} is`} onRetry={reload} />}
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
    <Tabs label={`About ${name}`} tabs={TABS} selected={selected} onSelect={select}>
      {selected === 'log' && <LogView name={name} version={version} />}
      {selected === 'build' && <BuildOutput object={object} />}
      {selected === 'facts' && <Facts object={object} />}
    </Tabs>
  )
}

/** @param others of the same name. */
function NotFound({
  title,
  others,
}: {
  readonly title: string
  readonly others: readonly RuntimeObject[]
}): JSX.Element {
  return (
    <Empty title={`${title} is not there`}>
      {others.length === 0 ? (
        <p>
          It was killed, or never run in this namespace. <Link to="/runtime">What runs</Link>
        </p>
      ) : (
        <ul>
          {others.map((other) => (
            <li key={other.version}>
              <Link to={toObjectPath(other)}>{`${other.name}@${other.version}`}</Link>
            </li>
          ))}
        </ul>
      )}
    </Empty>
  )
}
