import type { RequestLine } from '../../core/route.ts'
import type { EndpointRoute } from './declared.ts'
import { type Bucket, RouteTree } from './route-tree.ts'

/** Creates the tree of declared endpoints. Among equal routes in a namespace, the route added first wins. */
export function createEndpointTree(): RouteTree<EndpointRoute> {
  return new RouteTree(() => new EndpointBucket())
}

class EndpointBucket implements Bucket<EndpointRoute> {
  readonly isConditional = false
  readonly #methods = new Map<string, Owners>()
  #any: Owners | undefined = undefined

  add(route: EndpointRoute): void {
    if (route.methods.length === 0) {
      if (this.#any === undefined) this.#any = new Owners(route)
      else this.#any.add(route)
    }
    for (const method of route.methods) {
      const owners = this.#methods.get(method)
      if (owners === undefined) this.#methods.set(method, new Owners(route))
      else owners.add(route)
    }
  }

  /** Routes with the method precede routes for any method. GET routes also match HEAD (RFC 9110 §9.3.2). */
  find({ method, namespace }: RequestLine): EndpointRoute | undefined {
    return (
      this.#methods.get(method)?.find(namespace) ??
      (method === 'HEAD' ? this.#methods.get('GET')?.find(namespace) : undefined) ??
      this.#any?.find(namespace)
    )
  }

  /** Adds the methods that have a route. */
  collect({ namespace }: RequestLine, methods: Set<string>): void {
    for (const [method, owners] of this.#methods) {
      if (owners.find(namespace) === undefined) continue
      methods.add(method)
      if (method === 'GET') methods.add('HEAD')
    }
  }
}

/** Routes that differ only in their service, of which the first one in each namespace counts. */
class Owners {
  readonly #first: EndpointRoute
  /** Undefined if there is a single service. */
  #byNamespace: Map<string, EndpointRoute> | undefined = undefined

  constructor(first: EndpointRoute) {
    this.#first = first
  }

  add(route: EndpointRoute): void {
    if (route.service === this.#first.service) return
    this.#byNamespace ??= list(this.#first, new Map())
    list(route, this.#byNamespace)
  }

  find(namespace: string): EndpointRoute | undefined {
    if (this.#byNamespace !== undefined) return this.#byNamespace.get(namespace)
    return isInside(this.#first.service, namespace) ? this.#first : undefined
  }
}

/** Adds a route for every namespace that contains its service and has no route yet. */
function list(route: EndpointRoute, routes: Map<string, EndpointRoute>): typeof routes {
  const { service } = route
  if (!routes.has('')) routes.set('', route)
  for (let dot = service.indexOf('.'); dot >= 0; dot = service.indexOf('.', dot + 1)) {
    const namespace = service.slice(0, dot)
    if (!routes.has(namespace)) routes.set(namespace, route)
  }
  return routes
}

function isInside(service: string, namespace: string): boolean {
  const { length } = namespace
  return length === 0 || (service[length] === '.' && service.startsWith(namespace))
}
