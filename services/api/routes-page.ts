import type { RoutesMessage, RoutesPage } from './messages.ts'

/** Which routes. */
export interface RoutesRequest {
  /** Full name of a service; empty: all. */
  readonly service: string
  /** Most services. */
  readonly limit: number
  /** Those behind this name; empty: from the first one. */
  readonly after: string
}

/** Part of the routes, with where the next part begins; absent: this is the last. */
export function toRoutesPage(
  { routes, ...rest }: RoutesMessage,
  { service, limit, after }: RoutesRequest,
): RoutesPage {
  const asked = service === '' ? routes : routes.filter((route) => route.service === service)
  const names = [...new Set(asked.map((route) => route.service))].filter((name) => name > after)
  const taken = new Set(names.slice(0, limit))
  const page = { ...rest, routes: asked.filter((route) => taken.has(route.service)) }
  return names.length > limit ? { ...page, next: names[limit - 1]! } : page
}
