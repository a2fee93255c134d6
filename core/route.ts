import type { Handler } from './chain.ts'
import type { Registry, Service } from './contracts/registry.ts'
import type { Exchange } from './exchange.ts'
import type { HeaderList } from './http/headers.ts'
import type { RouteCounters } from './metrics/route-counters.ts'
import type { PathTemplate } from './path/template.ts'
import { isServiceName } from './registry/service-name.ts'
import type { CallTimeouts } from './upstream/call.ts'
import type { ConcurrencyOptions, Priority } from './upstream/concurrency/concurrency-options.ts'
import type { HedgeOptions } from './upstream/retry/hedge-options.ts'
import type { RetryOptions } from './upstream/retry/retry-options.ts'

/** Input of a resolver. Implemented by `Exchange`. */
export interface RequestLine {
  /** Upper case: `GET`. */
  readonly method: string
  /** As received: starts with `/`, percent-encoded, no query. */
  readonly path: string
  /** Header `Host` as received, port included. */
  readonly host: string
  /** Prefix of service names, without the dot; empty if none. */
  readonly namespace: string
  /** Without `?`. @default '' */
  readonly query?: string
  readonly headers?: Pick<HeaderList, 'get'>
  /** @default '' */
  readonly clientAddress?: string
  /** Name of the listener that received it. @default '' */
  readonly listener?: string
}

/** Destination of a request: names only, no nodes or addresses. */
export interface Route {
  /** Full service name: `go.mx.api.greeter`; for events the full topic. */
  readonly service: string
  /** `Handler.Method` for RPC, event name for events; empty for proxies, which forward the complete path. */
  readonly endpoint: string
  /** Handler that a declared endpoint requires; undefined: any. */
  readonly handler?: string | undefined
  /** Path variables of a declared endpoint, values decoded, in the order of the path; undefined if none. */
  readonly variables?: readonly (readonly [name: string, value: string])[] | undefined
  /** Template of a declared endpoint that the path matched; undefined if none. */
  readonly template?: PathTemplate | undefined
  /** Additions of a configured route (`routes:`); undefined if none. */
  readonly rule?: RouteRule | undefined
  /** Set by the gateway with the first request that it counts. */
  counters?: RouteCounters | undefined
}

/** Settings of a configured route, except its service. */
export interface RouteRule {
  /** `name` of the route, or its number from 1. */
  readonly name: string
  /** Key in `Chain.scopes`; undefined: the key of the service. */
  readonly scope: string | undefined
  /** Changes the request as soon as it is routed. */
  readonly rewrite: ((x: Exchange) => void) | undefined
  /** Overrides of the timeouts of the service. */
  readonly timeouts?: CallTimeouts | undefined
  /** Replace the options of the service. */
  readonly retry?: RetryOptions | undefined
  readonly hedge?: HedgeOptions | undefined
  /** Separate limit in place of the limit of the service; `off`: none. */
  readonly concurrency?: ConcurrencyOptions | 'off' | undefined
  /** Determines the order in the queue, and which requests are shed first. @default 'default' */
  readonly priority?: Priority | undefined
  /** Responds in place of a service. */
  readonly handler: Handler | undefined
}

/** Maps request lines to routes. No I/O: within a generation, equal input gives equal routes. */
export interface Resolver {
  /** Kebab-case and equal to the file name. */
  readonly name: string
  /** Expected form of a request line, for errors. */
  readonly expected: string
  /** Kind of its routes: services, which are looked up in the registry, or topics, which are not registered. @default 'services' */
  readonly names?: 'services' | 'topics'
  /** Key of the route cache: the part of the request line that the route depends on. */
  readonly key: (request: RequestLine) => string
  /**
   * Returns the route, or undefined for a request line that this resolver does not recognize.
   *
   * @throws {GatewayError} for a recognized but invalid request line, such as 405 for an unsupported method.
   */
  readonly resolve: (request: RequestLine) => Route | undefined
  /** Incremented when equal keys may give other routes than before. @default constant 0 */
  readonly generation?: number
  /** Resolves, never rejects, once the data of the resolver has loaded or failed to load. Undefined: ready at once. */
  readonly ready?: Promise<void> | undefined
  readonly close?: () => void
}

/** Dependencies of a resolver that is more than a function of the request line. */
export interface ResolverOptions {
  /** Fallback for request lines without a route, or the resolver to wrap. */
  readonly inner: Resolver
  readonly registry: Registry
  /** Base domain of the gateway's hosts; empty if none. */
  readonly domain: string
  /** Called with each ignored declaration and the reason, for operators. */
  readonly onWarning: (message: string) => void
  /** Called with the services of the registry, initially and after every change, by a resolver that lists them. */
  readonly onServices?: ((services: readonly Service[]) => void) | undefined
}

export type CreateResolver = (options: ResolverOptions) => Resolver

/** Export of a file of `resolvers/`. */
export type ResolverPart = Resolver | CreateResolver

/** Creates a route. All routes are created here, so that they have one hidden class. */
export function toRoute(
  service: string,
  endpoint: string,
  handler?: string,
  variables?: Route['variables'],
  template?: PathTemplate,
  rule?: RouteRule,
): Route {
  return { service, endpoint, handler, variables, template, rule, counters: undefined }
}

/** `name` inside `namespace` (specification: Namespace); an empty namespace adds nothing. */
export function joinName(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}.${name}`
}

/** Creates the proxy route to a service named in a request; undefined for an invalid service name. */
export function toServiceRoute(namespace: string, name: string): Route | undefined {
  return isServiceName(name) ? toRoute(joinName(namespace, name), '') : undefined
}
