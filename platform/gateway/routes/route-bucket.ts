import type { RequestLine } from '../../../core/route.ts'
import type { Bucket, TreeRoute } from '../../../resolvers/endpoint/route-tree.ts'
import { compareConditions, holds, type RouteConditions } from './conditions.ts'

export interface ConditionalRoute extends TreeRoute {
  readonly conditions: RouteConditions
}

/**
 * Configured routes with the same path and host pattern. Routes for the method of the request come first, then
 * routes with more conditions, then routes that were added earlier.
 */
export class ConditionalBucket<R extends ConditionalRoute> implements Bucket<R> {
  readonly #methods = new Map<string, R[]>()
  readonly #any: R[] = []

  add(route: R): void {
    if (route.methods.length === 0) insert(this.#any, route)
    for (const method of route.methods) {
      const routes = this.#methods.get(method) ?? []
      this.#methods.set(method, routes)
      insert(routes, route)
    }
  }

  find(request: RequestLine): R | undefined {
    const { method } = request
    return (
      pick(this.#methods.get(method), request) ??
      (method === 'HEAD' ? pick(this.#methods.get('GET'), request) : undefined) ??
      pick(this.#any, request)
    )
  }

  collect(request: RequestLine, methods: Set<string>): void {
    for (const [method, routes] of this.#methods) {
      if (pick(routes, request) === undefined) continue
      methods.add(method)
      if (method === 'GET') methods.add('HEAD')
    }
  }
}

function insert<R extends ConditionalRoute>(routes: R[], route: R): void {
  const at = routes.findIndex((other) => compareConditions(route.conditions, other.conditions) < 0)
  routes.splice(at < 0 ? routes.length : at, 0, route)
}

function pick<R extends ConditionalRoute>(
  routes: readonly R[] | undefined,
  request: RequestLine,
): R | undefined {
  return routes?.find(({ conditions }) => holds(conditions, request))
}
