import { isServiceName } from './service-name.ts'

/** What a resolver may look at. An exchange is one. */
export interface RequestLine {
  /** Upper case: `GET`. */
  readonly method: string
  /** As received: starts with `/`, percent-encoded, no query. */
  readonly path: string
  /** The `Host` field as received, port included. */
  readonly host: string
  /** Prefix of service names, without the dot; empty: none. */
  readonly namespace: string
}

/** Where a request goes. Pure naming: says nothing about nodes or addresses. */
export interface Route {
  /** Full service name: `go.mx.api.greeter`; for events the full topic. */
  readonly service: string
  /** `Handler.Method` for RPC, the event's name for events; empty for proxies, which forward the request's own path whole. */
  readonly endpoint: string
}

/** Maps request lines to routes. No I/O: the same input always gives the same route. */
export interface Resolver {
  /** Kebab-case and equal to the file name. */
  readonly name: string
  /** What a request line must look like, for the answer to one that does not. */
  readonly expected: string
  /** What its routes name: services, which are looked up in the registry, or topics, which nobody registers. @default 'services' */
  readonly names?: 'services' | 'topics'
  /** The part of the request line the answer depends on; equal keys give equal routes. Key of the route cache. */
  readonly key: (request: RequestLine) => string
  /** The route, or undefined when the request line has no shape this resolver knows. */
  readonly resolve: (request: RequestLine) => Route | undefined
}

/** `name` inside `namespace` (specification: Namespace); an empty namespace adds nothing. */
export function joinName(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}.${name}`
}

/** The proxy route to a service named in a request; undefined when that is no name of a service. */
export function toServiceRoute(namespace: string, name: string): Route | undefined {
  return isServiceName(name) ? { service: joinName(namespace, name), endpoint: '' } : undefined
}
