import type { Exchange } from '../exchange.ts'
import { formatTemplate } from '../path/format-template.ts'
import type { PathTemplate } from '../path/template.ts'
import type { Route } from '../route.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { OTHER_ROUTES, RouteCounters } from './route-counters.ts'

export interface RouteLabelsOptions {
  /** Maximum number of routes; further routes share one counter. @default 500 */
  readonly max?: number
  /** Maximum number of endpoints of a service that declares none. @default 50 */
  readonly maxUndeclared?: number
}

/**
 * Counters of all routes. Clients cannot inflate their number: paths are grouped by declared templates, and undeclared
 * endpoints are only counted separately after a successful response.
 *
 * A route references its counters, so that requests with a cached route need no lookup.
 */
export class RouteLabels {
  readonly #max: number
  readonly #maxUndeclared: number
  /** By service, then by endpoint and path. Nested, because a joined key would have to be built for every call. */
  readonly #routes = new Map<string, Map<string, RouteCounters>>()
  #size = 0
  readonly #paths = new WeakMap<PathTemplate, string>()
  /** Number of undeclared endpoints by service. */
  readonly #undeclared = new Map<string, number>()
  /** Counters of requests that ended before a service was found. */
  readonly #none = new RouteCounters('', '', '')
  readonly #other = new RouteCounters(OTHER_ROUTES, '', '')

  constructor({ max = 500, maxUndeclared = 50 }: RouteLabelsOptions = {}) {
    this.#max = max
    this.#maxUndeclared = maxUndeclared
  }

  /** Returns the counters of a finished request. */
  of(x: Exchange): RouteCounters {
    const { route } = x
    if (route === undefined) return this.#none
    return route.counters ?? this.#find(x, route)
  }

  values(): RouteCounters[] {
    const routeCounters = [...this.#routes.values()].flatMap((routes) => [...routes.values()])
    return [this.#none, this.#other, ...routeCounters]
  }

  #find(x: Exchange, route: Route): RouteCounters {
    const { upstream } = x
    // Clients can choose any topic.
    if (upstream === undefined) return this.#other
    const { endpoint, template } = route
    const { label: service } = upstream
    const path = template === undefined ? '' : this.#toPath(template)
    const key = path === '' ? endpoint : `${endpoint}\n${path}`
    let counters = this.#routes.get(service)?.get(key)
    if (counters === undefined) {
      if (!this.#isCounted(x, route, upstream))
        return this.#open(service, OTHER_ROUTES, '', OTHER_ROUTES)
      counters = this.#open(service, endpoint, path, key)
    }
    route.counters = counters
    return counters
  }

  #toPath(template: PathTemplate): string {
    let path = this.#paths.get(template)
    if (path === undefined) {
      path = formatTemplate(template)
      this.#paths.set(template, path)
    }
    return path
  }

  /** Whether a route is counted separately. Called once per separate route. */
  #isCounted(x: Exchange, { endpoint }: Route, { label, endpoints }: Upstream): boolean {
    if (endpoint === '' || endpoints.has(endpoint)) return true
    if (endpoints.size > 0 || x.status < 200 || x.status >= 400) return false
    const count = this.#undeclared.get(label) ?? 0
    if (count >= this.#maxUndeclared) return false
    this.#undeclared.set(label, count + 1)
    return true
  }

  /** @param key endpoint and path, separated by a line break, which neither can contain. */
  #open(service: string, endpoint: string, path: string, key: string): RouteCounters {
    const before = this.#routes.get(service)?.get(key)
    if (before !== undefined) return before
    if (this.#size >= this.#max) return this.#other
    const counters = new RouteCounters(service, endpoint, path)
    const routes = this.#routes.get(service) ?? new Map<string, RouteCounters>()
    this.#routes.set(service, routes.set(key, counters))
    this.#size++
    return counters
  }
}
