import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { type ComponentChildren, h, type JSX } from 'preact'

const current = signal(readLocation())

/** Path of the current page. */
export const path: ReadonlySignal<string> = computed(() => current.value.pathname)

/** Query parameters of the current page. */
export const query: ReadonlySignal<URLSearchParams> = computed(
  () => new URLSearchParams(current.value.search),
)

/** Navigates to a path of the dashboard, with optional query and fragment. @throws {TypeError} for another origin. */
export function navigate(
  to: string,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const url = new URL(to, location.href)
  if (url.origin !== location.origin) throw new TypeError(`navigate expects a path, got ${to}`)
  const target = url.pathname + url.search + url.hash
  if (replace) history.replaceState(null, '', target)
  else history.pushState(null, '', target)
  current.value = readLocation()
}

/** Sets a query parameter without a history entry; an empty value removes it. */
export function setQuery(name: string, value: string): void {
  const next = new URLSearchParams(query.peek())
  if (value === '') next.delete(name)
  else next.set(name, value)
  const text = next.toString()
  navigate(text === '' ? path.peek() : `${path.peek()}?${text}`, { replace: true })
}

export interface LinkProps {
  /** Path in the dashboard. Names in it must be passed through `encodeURIComponent`. */
  readonly to: string
  readonly children: ComponentChildren
  readonly class?: string
  /** True if it links to the current page. */
  readonly current?: boolean
  readonly label?: string
}

/** Link within the dashboard. */
export function Link({
  to,
  children,
  class: name,
  current: isCurrent,
  label,
}: LinkProps): JSX.Element {
  return h(
    'a',
    {
      href: to,
      class: name,
      'aria-current': isCurrent === true ? 'page' : undefined,
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

/** Handles the back and forward buttons. */
export function followHistory(): void {
  addEventListener('popstate', () => {
    current.value = readLocation()
  })
}

function readLocation(): { readonly pathname: string; readonly search: string } {
  const { pathname, search } = location
  return { pathname, search }
}
