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

/** Page of the current path, loaded lazily. A change of namespace or account remounts it. */
export function CurrentPage(): JSX.Element {
  const page = findPage(path.value)
  if (page === undefined)
    return (
      <Page title="Page not found">
        <Empty title={`No page at ${path.value}`}>
          <Link to="/">Go to the overview</Link>
        </Empty>
      </Page>
    )
  const [entry, parameters] = page
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

/** Shown if a page cannot be loaded: after a server upgrade, an open dashboard requests files that no longer exist. */
function NotLoaded({ title }: { readonly title: string }): JSX.Element {
  return (
    <Page title={title}>
      <Empty title="Failed to load the page">
        <p>The server is unreachable or was upgraded.</p>
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </Empty>
    </Page>
  )
}

let isFirst = true

/** Focuses the heading of a new page for screen readers. Browsers announce the first page themselves. */
function useFocus(isLoaded: boolean): void {
  const isInitialized = useRef(false)
  useEffect(() => {
    if (!isLoaded || isInitialized.current) return
    isInitialized.current = true
    if (!isFirst) document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
    isFirst = false
    scrollTo(0, 0)
  }, [isLoaded])
}

/** Starts loading the current page before the session is known. */
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
