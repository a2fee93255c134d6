import type { RequestLine } from '../../../core/route.ts'
import type { Bucket } from '../../../resolvers/endpoint/route-tree.ts'
import { isConditional } from './conditions.ts'
import { type ConditionalRoute, RouteList } from './route-list.ts'

/**
 * Configured routes with the same path and host pattern. Routes for the method of the request come first, then
 * routes with lower positions. Routes must be added in the order of their positions.
 */
export class ConditionalBucket<R extends ConditionalRoute> implements Bucket<R> {
  isConditional = false
  readonly #methods = new Map<string, RouteList<R>>()
  readonly #any = new RouteList<R>()

  add(route: R): void {
    this.isConditional ||= isConditional(route.conditions)
    if (route.methods.length === 0) this.#any.add(route)
    for (const method of route.methods) {
      const routes = this.#methods.get(method) ?? new RouteList<R>()
      this.#methods.set(method, routes)
      routes.add(route)
    }
  }

  find(request: RequestLine): R | undefined {
    const { method } = request
    return (
      this.#methods.get(method)?.find(request) ??
      (method === 'HEAD' ? this.#methods.get('GET')?.find(request) : undefined) ??
      this.#any.find(request)
    )
  }

  collect(request: RequestLine, methods: Set<string>): void {
    for (const [method, routes] of this.#methods) {
      if (routes.find(request) === undefined) continue
      methods.add(method)
      if (method === 'GET') methods.add('HEAD')
    }
  }
}
