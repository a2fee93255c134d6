import type { Registry, Service } from './contracts/registry.ts'
import type { RouteCounters } from './metrics/route-counters.ts'
import type { PathTemplate } from './path/template.ts'
import { isServiceName } from './registry/service-name.ts'

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
  /** Name of the handler a declared endpoint asks for; undefined: none is asked for. */
  readonly handler?: string | undefined
  /** What the path holds at the variables of a declared endpoint's template: name and decoded value each, in the order of the path; undefined: it has none. */
  readonly variables?: readonly (readonly [name: string, value: string])[] | undefined
  /** What a declared endpoint's path was matched by; undefined: it declares none. */
  readonly template?: PathTemplate | undefined
  /** Of the gateway that serves it; undefined: it has served none, or does not count. */
  counters?: RouteCounters | undefined
}

/** Maps request lines to routes. No I/O: within a generation, the same input always gives the same route. */
export interface Resolver {
  /** Kebab-case and equal to the file name. */
  readonly name: string
  /** What a request line must look like, for the answer to one that does not. */
  readonly expected: string
  /** What its routes name: services, which are looked up in the registry, or topics, which nobody registers. @default 'services' */
  readonly names?: 'services' | 'topics'
  /** The part of the request line the answer depends on; equal keys give equal routes. Key of the route cache. */
  readonly key: (request: RequestLine) => string
  /**
   * The route, or undefined when the request line has no shape this resolver knows.
   *
   * @throws {GatewayError} for a request line whose shape it knows and that is wrong: a method not served there is 405.
   */
  readonly resolve: (request: RequestLine) => Route | undefined
  /** Rises when equal keys may give other routes than before. @default 0, for ever */
  readonly generation?: number
  /** Settles, never by rejecting, once the resolver knows what it resolves by, or that it cannot be had now. Undefined: it does already. */
  readonly ready?: Promise<void> | undefined
  readonly close?: () => void
}

/** What a resolver is made from that is more than a function of the request line. */
export interface ResolverOptions {
  /** Asked where this resolver knows no route, or wrapped by it. */
  readonly inner: Resolver
  readonly registry: Registry
  /** Base domain of the gateway's hosts; empty: none. */
  readonly domain: string
  /** Told, for an operator, what is left out and why. */
  readonly onWarning: (message: string) => void
  /** Told of what the registry lists, by a resolver that asks for that, and of every version that comes later. */
  readonly onServices?: ((services: readonly Service[]) => void) | undefined
}

export type CreateResolver = (options: ResolverOptions) => Resolver

/** What a file of `resolvers/` exports: a resolver, or what creates one. */
export type ResolverPart = Resolver | CreateResolver

/** A route. Every resolver makes its routes here, so that all have one shape. */
export function toRoute(
  service: string,
  endpoint: string,
  handler?: string,
  variables?: Route['variables'],
  template?: PathTemplate,
): Route {
  return { service, endpoint, handler, variables, template, counters: undefined }
}

/** `name` inside `namespace` (specification: Namespace); an empty namespace adds nothing. */
export function joinName(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}.${name}`
}

/** The proxy route to a service named in a request; undefined when that is no name of a service. */
export function toServiceRoute(namespace: string, name: string): Route | undefined {
  return isServiceName(name) ? toRoute(joinName(namespace, name), '') : undefined
}
