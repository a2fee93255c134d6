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
  /** Method in upper case: `GET`. */
  readonly method: string
  /** As received: starts with `/`, percent-encoded, no query. */
  readonly path: string
  /** `Host` header as received, including the port. */
  readonly host: string
  /** Prefix of service names, without the dot; empty if none. */
  readonly namespace: string
  /** Query without `?`. @default '' */
  readonly query?: string
  readonly headers?: Pick<HeaderList, 'get'>
  /** @default '' */
  readonly clientAddress?: string
  /** Whether an untrusted proxy forwarded it, so that the address of the client is unknown. @default false */
  readonly relayed?: boolean
  /** Name of the listener that received it. @default '' */
  readonly listener?: string
}

/** Destination of a request: names only, no nodes or addresses. */
export interface Route {
  /** Full service name such as `go.mx.api.greeter`; for events, the full topic. */
  readonly service: string
  /** `Handler.Method` for RPC, event name for events; empty for proxies, which forward the complete path. */
  readonly endpoint: string
  /** Handler required by a declared endpoint; undefined for any. */
  readonly handler?: string | undefined
  /** Decoded path variables of a declared endpoint, in path order; undefined if none. */
  readonly variables?: readonly (readonly [name: string, value: string])[] | undefined
  /** Template of the declared endpoint that matched the path; undefined if none. */
  readonly template?: PathTemplate | undefined
  /** Settings of a configured route (`routes:`); undefined if none. */
  readonly rule?: RouteRule | undefined
  /** Set by the gateway on the first request that it counts. */
  counters?: RouteCounters | undefined
}

/** Settings of a configured route, except its service. */
export interface RouteRule {
  /** `name` of the route, or its number from 1. */
  readonly name: string
  /** Key in `Chain.scopes`; undefined for the key of the service. */
  readonly scope: string | undefined
  /** Changes the request immediately after routing. */
  readonly rewrite: ((x: Exchange) => void) | undefined
  /** Overrides the timeouts of the service. */
  readonly timeouts?: CallTimeouts | undefined
  /** Overrides the retry options of the service. */
  readonly retry?: RetryOptions | undefined
  readonly hedge?: HedgeOptions | undefined
  /** Separate limit that replaces the limit of the service; `off` for no limit. */
  readonly concurrency?: ConcurrencyOptions | 'off' | undefined
  /** Determines the queue order, and which requests are shed first. @default 'default' */
  readonly priority?: Priority | undefined
  /** Responds instead of a service. */
  readonly handler: Handler | undefined
}

/** Maps request lines to routes. No I/O: within a generation, equal input yields equal routes. */
export interface Resolver {
  /** Kebab-case and equal to the file name. */
  readonly name: string
  /** Expected form of a request line, for errors. */
  readonly expected: string
  /**
   * Kind of its route targets: services, which are looked up in the registry, or topics, which are not registered.
   * @default 'services'
   */
  readonly names?: 'services' | 'topics'
  /** Returns the route cache key, the part of the request line on which the route depends. */
  readonly key: (request: RequestLine) => string
  /**
   * Returns the route, or undefined for a request line that this resolver does not recognize.
   *
   * @throws {GatewayError} for a recognized but invalid request line, such as 405 for an unsupported method.
   */
  readonly resolve: (request: RequestLine) => Route | undefined
  /** Incremented when equal keys may yield different routes than before. @default constant 0 */
  readonly generation?: number
  /**
   * Resolves, and never rejects, once the resolver's data has loaded or failed to load. Undefined if immediately ready.
   */
  readonly ready?: Promise<void> | undefined
  readonly close?: () => void
}

/** Dependencies of a resolver that does not only depend on the request line. */
export interface ResolverOptions {
  /** Fallback for request lines without a route, or the resolver to wrap. */
  readonly inner: Resolver
  readonly registry: Registry
  /** Base domain of the gateway's hosts; empty if none. */
  readonly domain: string
  /** Called for operators with each ignored declaration and the reason. */
  readonly onWarning: (message: string) => void
  /** Called with the services of the registry, initially and after every change, by a resolver that lists them. */
  readonly onServices?: ((services: readonly Service[]) => void) | undefined
}

export type CreateResolver = (options: ResolverOptions) => Resolver

/** Export of a file in `resolvers/`. */
export type ResolverPart = Resolver | CreateResolver

/** Creates a route. All routes are created here, so that they share one hidden class. */
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

/** Adds the namespace to a name (specification: Namespace); an empty namespace adds nothing. */
export function joinName(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}.${name}`
}

/** Creates the proxy route to a service named in a request. Returns undefined for an invalid service name. */
export function toServiceRoute(namespace: string, name: string): Route | undefined {
  return isServiceName(name) ? toRoute(joinName(namespace, name), '') : undefined
}
