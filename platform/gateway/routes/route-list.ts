import type { RequestLine } from '../../../core/route.ts'
import type { TreeRoute } from '../../../resolvers/endpoint/route-tree.ts'
import { holds, type RouteConditions } from './conditions.ts'
import { findParameter } from './rewrite/find-parameter.ts'

export interface ConditionalRoute extends TreeRoute {
  readonly conditions: RouteConditions
  /** Lower precedes, among routes of one path, host pattern and method. */
  readonly position: number
}

/** Longer lists are indexed. */
const MAX_SCANNED = 8

/** Routes of one path, host pattern and method, which differ in their conditions. */
export class RouteList<R extends ConditionalRoute> {
  /** The first ones. */
  readonly #scanned: R[] = []
  /** The others. */
  #index: ExactIndex<R> | undefined = undefined

  /** Routes must be added in the order of their positions. */
  add(route: R): void {
    if (this.#scanned.length < MAX_SCANNED) {
      this.#scanned.push(route)
      return
    }
    this.#index ??= new ExactIndex()
    this.#index.add(route)
  }

  /** First route whose conditions hold. */
  find(request: RequestLine): R | undefined {
    return scan(this.#scanned, request) ?? this.#index?.find(request)
  }
}

/** Routes with exact conditions on the same headers and parameters. */
interface Group<R> {
  /** Position of the first route. */
  readonly first: number
  readonly headers: readonly string[]
  readonly query: readonly string[]
  /** Routes by the values. */
  readonly routes: Map<string, R[]>
}

/** Finds routes by the values of their exact conditions. Other conditions are evaluated one by one. */
class ExactIndex<R extends ConditionalRoute> {
  /** In the order of their first routes. */
  readonly #groups: Group<R>[] = []
  readonly #byNames = new Map<string, Group<R>>()

  add(route: R): void {
    const headers = listExact(route.conditions.headers)
    const query = listExact(route.conditions.query)
    const names = JSON.stringify([headers, query].map((list) => list.map(({ name }) => name)))
    let group = this.#byNames.get(names)
    if (group === undefined) {
      group = {
        first: route.position,
        headers: headers.map(({ name }) => name),
        query: query.map(({ name }) => name),
        routes: new Map(),
      }
      this.#byNames.set(names, group)
      this.#groups.push(group)
    }
    const values = [...headers, ...query].map(({ value }) => value).join(SEPARATOR)
    const routes = group.routes.get(values)
    if (routes === undefined) group.routes.set(values, [route])
    else routes.push(route)
  }

  find(request: RequestLine): R | undefined {
    let best: R | undefined
    for (const group of this.#groups) {
      if (best !== undefined && best.position < group.first) break
      const values = readValues(group, request)
      const found = values === undefined ? undefined : scan(group.routes.get(values), request)
      if (found !== undefined && (best === undefined || found.position < best.position))
        best = found
    }
    return best
  }
}

/** Different values may have equal texts, because {@link holds} compares each. */
const SEPARATOR = '\n'

/** Undefined if a value is missing. */
function readValues<R>({ headers, query }: Group<R>, request: RequestLine): string | undefined {
  let values: string | undefined
  for (const name of headers) {
    const value = request.headers?.get(name)
    if (value === undefined) return undefined
    values = values === undefined ? value : values + SEPARATOR + value
  }
  for (const name of query) {
    const value = findParameter(request.query, name)
    if (value === undefined) return undefined
    values = values === undefined ? value : values + SEPARATOR + value
  }
  return values ?? ''
}

function listExact(conditions: RouteConditions['headers']): RouteConditions['headers'] {
  return conditions
    .filter(({ kind }) => kind === 'exact')
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function scan<R extends ConditionalRoute>(
  routes: readonly R[] | undefined,
  request: RequestLine,
): R | undefined {
  if (routes === undefined) return undefined
  for (const route of routes) if (holds(route.conditions, request)) return route
  return undefined
}
