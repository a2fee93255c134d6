import type { Exchange } from '../exchange.ts'
import { formatTemplate } from '../path/format-template.ts'
import type { PathTemplate } from '../path/template.ts'
import type { Route } from '../route.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { OTHER_ROUTES, RouteCounters } from './route-counters.ts'

export interface RouteTableOptions {
  /** Most routes told apart; what comes later is counted as one. @default 500 */
  readonly max?: number
  /** Most endpoints told apart of a service that declares none. @default 50 */
  readonly maxUndeclared?: number
}

/**
 * The counters of all routes. Whatever clients ask for, there are few: paths are told apart by what services declare, and endpoints
 * nobody declared once a service has answered for them.
 *
 * A route remembers its counters, so that a request whose route is cached costs no look-up.
 */
export class RouteTable {
  readonly #max: number
  readonly #maxUndeclared: number
  /** By service, then by what tells its routes apart: names of a call may be new strings, which would have to be joined and copied. */
  readonly #routes = new Map<string, Map<string, RouteCounters>>()
  #size = 0
  readonly #paths = new WeakMap<PathTemplate, string>()
  /** How many endpoints of services that declare none have a name. */
  readonly #undeclared = new Map<string, number>()
  /** Requests answered before a service was found. */
  readonly #none = new RouteCounters('', '', '')
  /** What nothing else is for. */
  readonly #other = new RouteCounters(OTHER_ROUTES, '', '')

  constructor({ max = 500, maxUndeclared = 50 }: RouteTableOptions = {}) {
    this.#max = max
    this.#maxUndeclared = maxUndeclared
  }

  /** Those of a request that is over. */
  of(x: Exchange): RouteCounters {
    const { route } = x
    if (route === undefined) return this.#none
    return route.counters ?? this.#find(x, route)
  }

  /** All there are. */
  values(): RouteCounters[] {
    const named = [...this.#routes.values()].flatMap((routes) => [...routes.values()])
    return [this.#none, this.#other, ...named]
  }

  #find(x: Exchange, route: Route): RouteCounters {
    const { upstream } = x
    // Topics are whatever clients say.
    if (upstream === undefined) return this.#other
    const { service, endpoint, template } = route
    const path = template === undefined ? '' : this.#toPath(template)
    const key = path === '' ? endpoint : `${endpoint}\n${path}`
    let counters = this.#routes.get(service)?.get(key)
    if (counters === undefined) {
      if (!this.#hasName(x, route, upstream))
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

  /** Asked once for each route that has one. */
  #hasName(x: Exchange, { service, endpoint }: Route, { endpoints }: Upstream): boolean {
    if (endpoint === '' || endpoints.has(endpoint)) return true
    if (endpoints.size > 0 || x.status < 200 || x.status >= 400) return false
    const named = this.#undeclared.get(service) ?? 0
    if (named >= this.#maxUndeclared) return false
    this.#undeclared.set(service, named + 1)
    return true
  }

  /** @param key of what no line end can be part. */
  #open(service: string, endpoint: string, path: string, key: string): RouteCounters {
    const known = this.#routes.get(service)?.get(key)
    if (known !== undefined) return known
    if (this.#size >= this.#max) return this.#other
    const counters = new RouteCounters(service, endpoint, path)
    const routes = this.#routes.get(service) ?? new Map<string, RouteCounters>()
    this.#routes.set(service, routes.set(key, counters))
    this.#size++
    return counters
  }
}
