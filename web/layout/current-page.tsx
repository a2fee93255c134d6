import type { ComponentType, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Boundary } from '../components/boundary.tsx'
import { Page } from '../components/page.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { useCall } from '../hooks/use-call.ts'
import { PAGES, type PageEntry } from '../pages.ts'
import { match, type Parameters, type RouteProps } from '../state/match-path.ts'
import { Link, path } from '../state/router.ts'
import { endedSession, namespace, session } from '../state/session.ts'

/** The page that the address names, loaded when it is first needed. Another namespace or account begins it anew. */
export function CurrentPage(): JSX.Element {
  const found = findPage(path.value)
  if (found === undefined)
    return (
      <Page title="No such page">
        <Empty title={`There is nothing at ${path.value}`}>
          <Link to="/">Go to the overview</Link>
        </Empty>
      </Page>
    )
  const [entry, parameters] = found
  const { id, issuer } = (session.value ?? endedSession.value)?.account ?? {}
  const key = JSON.stringify([entry.pattern, namespace.value, id, issuer])
  return <LoadedPage key={key} {...{ entry, parameters }} />
}

const loaded = new Map<PageEntry, ComponentType<RouteProps>>()

function LoadedPage({
  entry,
  parameters,
}: {
  readonly entry: PageEntry
  readonly parameters: Parameters
}): JSX.Element {
  const { value = loaded.get(entry), state } = useCall(async () => {
    const { default: component } = await entry.load()
    loaded.set(entry, component)
    return component
  }, [entry])
  useFocus(value !== undefined)
  if (value === undefined)
    return state === 'failed' ? <NotLoaded title={entry.title} /> : <Loading />
  const Component = value
  return (
    <Boundary key={path.value} what={`The page ${entry.title}`} title={entry.title}>
      <Component parameters={parameters} />
    </Boundary>
  )
}

/** A page that was opened by the last version of the server asks for files that are no more. */
function NotLoaded({ title }: { readonly title: string }): JSX.Element {
  return (
    <Page title={title}>
      <Empty title="The page could not be loaded">
        <p>The server is gone, or has another version now.</p>
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </Empty>
    </Page>
  )
}

let isFirst = true

/** Screen readers hear which page it is now; the first one is told by the browser. */
function useFocus(isThere: boolean): void {
  const done = useRef(false)
  useEffect(() => {
    if (!isThere || done.current) return
    done.current = true
    if (!isFirst) document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
    isFirst = false
    scrollTo(0, 0)
  }, [isThere])
}

/** Begins to load the page that the address names, before anything else is known. */
export function preloadPage(): void {
  void findPage(path.peek())?.[0]
    .load()
    .catch(() => {})
}

function findPage(path: string): readonly [PageEntry, Parameters] | undefined {
  for (const entry of PAGES) {
    const parameters = match(entry.pattern, path)
    if (parameters !== undefined) return [entry, parameters]
  }
  return undefined
}
