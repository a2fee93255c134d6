import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { type ComponentChildren, h, type JSX } from 'preact'

const place = signal(readPlace())

/** Path of the page, as it stands in the address bar. */
export const path: ReadonlySignal<string> = computed(() => place.value.pathname)

/** Parameters behind the path. */
export const query: ReadonlySignal<URLSearchParams> = computed(
  () => new URLSearchParams(place.value.search),
)

/** Goes to a page. `to`: a path of the dashboard, and what may stand behind it. @throws {TypeError} for an address elsewhere. */
export function navigate(
  to: string,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const url = new URL(to, location.href)
  if (url.origin !== location.origin) throw new TypeError(`navigate takes a path, got ${to}`)
  const target = url.pathname + url.search + url.hash
  if (replace) history.replaceState(null, '', target)
  else history.pushState(null, '', target)
  place.value = readPlace()
}

/** Sets a parameter behind the path, without a step in the history; empty: takes it away. */
export function setQuery(name: string, value: string): void {
  const next = new URLSearchParams(query.peek())
  if (value === '') next.delete(name)
  else next.set(name, value)
  const text = next.toString()
  navigate(text === '' ? path.peek() : `${path.peek()}?${text}`, { replace: true })
}

export interface LinkProps {
  /** A path of the dashboard: `encodeURIComponent` what it holds of names. */
  readonly to: string
  readonly children: ComponentChildren
  readonly class?: string
  /** Marks it as the page that is shown. */
  readonly current?: boolean
  readonly label?: string
}

/** Leads to another page of the dashboard. */
export function Link({ to, children, class: name, current, label }: LinkProps): JSX.Element {
  return h(
    'a',
    {
      href: to,
      class: name,
      'aria-current': current === true ? 'page' : undefined,
      'aria-label': label,
      onClick(event: MouseEvent) {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
          return
        event.preventDefault()
        navigate(to)
      },
    },
    children,
  )
}

/** Follows the buttons of the browser. */
export function followHistory(): void {
  addEventListener('popstate', () => {
    place.value = readPlace()
  })
}

function readPlace(): { readonly pathname: string; readonly search: string } {
  const { pathname, search } = location
  return { pathname, search }
}
