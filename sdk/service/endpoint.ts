import type { TUnknown } from '../../core/schema.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import type { Context } from '../context.ts'
import type { Decoded, Returned, Schema, WireRequest, WireResponse } from '../schema/schema.ts'
import { checkRoute, type HttpRoute } from './http-route.ts'

/**
 * Streaming mode of an endpoint.
 * - `unary`: one request and one response.
 * - `server`: streams the response.
 * - `client`: streams the request.
 * - `both`: streams both independently.
 */
export type EndpointKind = 'unary' | 'server' | 'client' | 'both'

/** Request type of a handler. */
export type HandlerRequest<K extends EndpointKind, Q> = K extends 'client' | 'both'
  ? AsyncIterable<Decoded<Q>>
  : Decoded<Q>

/** An iterator that may return buffered messages synchronously. */
export interface PromptIterator<T> {
  next(): Maybe<IteratorResult<T>>
  /** Called when no more messages are needed. */
  return?(): Maybe<unknown>
}

/**
 * An async iterable that may return messages synchronously, so that thousands of buffered messages need no promises.
 */
export interface PromptIterable<T> {
  /** Called once. */
  [Symbol.asyncIterator](): PromptIterator<T>
}

/** Result type of a handler. A stream is any iterable, such as the result of `async *handle()`. */
export type HandlerResponse<K extends EndpointKind, R> = K extends 'server' | 'both'
  ? PromptIterable<Returned<R>> | AsyncIterable<Returned<R>> | Iterable<Returned<R>>
  : Maybe<Returned<R>>

/** Options of {@link endpoint}. */
export interface EndpointSpec<Q extends Schema, R extends Schema, K extends EndpointKind> {
  /** Schema of requests. @default any request, of type `unknown` in the handler */
  readonly request?: Q
  /** Schema of responses. @default any response */
  readonly response?: R
  /** Streaming mode. @default unary */
  readonly stream?: K
  /**
   * Allow retries of a call that failed with 500 or 408 (specification: Errors 5). Advertised in errors and in the
   * registry entry. If set to true, gateways and clients may also hedge calls.
   * @default true, except for hedging
   */
  readonly idempotent?: boolean
  /**
   * True if the endpoint does not change state (RFC 9110 §9.2.1, safe). Browsers may navigate only to such endpoints of
   * built-in services.
   * @default false
   */
  readonly readOnly?: boolean
  /** Human-readable description. */
  readonly description?: string
  readonly http?: HttpRoute
  /**
   * Plugins that gateways apply to calls of this endpoint, with their options: `{ 'body-limit': { limit: '64kb' } }`.
   * Published in the registry entry (docs/routes.md).
   * @default none
   */
  readonly policies?: Readonly<Record<string, object>>
  /** Handles a call. A typed error becomes the response; other errors become a 500 without details. */
  handle(request: HandlerRequest<K, Q>, ctx: Context): HandlerResponse<K, R>
}

/** A declared endpoint. */
export interface EndpointDefinition<
  Q extends Schema = Schema,
  R extends Schema = Schema,
  K extends EndpointKind = EndpointKind,
> {
  readonly kind: K
  readonly request: Q | undefined
  readonly response: R | undefined
  readonly idempotent: boolean | undefined
  readonly readOnly: boolean
  readonly description: string
  readonly http: HttpRoute | undefined
  readonly policies: Readonly<Record<string, object>>
  /** Loosely typed, so that a table can contain different endpoints. */
  readonly handle: (request: never, ctx: Context) => unknown
}

/** Endpoints of a handler by method name. Method `call` of the handler `Helloworld` is `Helloworld.Call`. */
export type Endpoints = Readonly<Record<string, EndpointDefinition>>

/** JSON type of an endpoint's request. */
export type RequestOf<E> =
  E extends EndpointDefinition<infer Q, infer _R, infer _K> ? WireRequest<Q> : never

/** JSON type of an endpoint's response. */
export type ResponseOf<E> =
  E extends EndpointDefinition<infer _Q, infer R, infer _K> ? WireResponse<R> : never

/** Streaming mode of an endpoint. */
export type KindOf<E> = E extends EndpointDefinition<infer _Q, infer _R, infer K> ? K : never

const KINDS: readonly EndpointKind[] = ['unary', 'server', 'client', 'both']
const SPEC: KnownOptions<EndpointSpec<Schema, Schema, EndpointKind>> = {
  request: true,
  response: true,
  stream: true,
  idempotent: true,
  readOnly: true,
  description: true,
  http: true,
  policies: true,
  handle: true,
}
const GENERATORS = ['[object GeneratorFunction]', '[object AsyncGeneratorFunction]']
const NAME = /^[A-Za-z][A-Za-z0-9]*$/

/**
 * Declares an endpoint.
 *
 * ```ts
 * endpoint({
 *   request: Type.Object({ name: Type.String() }),
 *   response: Type.Object({ message: Type.String() }),
 *   handle: ({ name }) => ({ message: `Hello ${name}` }),
 * })
 * ```
 *
 * @throws {TypeError} for a contradictory declaration.
 */
export function endpoint<
  Q extends Schema = TUnknown,
  R extends Schema = TUnknown,
  K extends EndpointKind = 'unary',
>(spec: EndpointSpec<Q, R, K>): EndpointDefinition<NoInfer<Q>, NoInfer<R>, NoInfer<K>> {
  rejectUnknownOptions('endpoint', spec, SPEC, true)
  const { stream = 'unary' as K, http, description = '' } = spec
  const { idempotent, readOnly = false, policies = {} } = spec
  if (!KINDS.includes(stream))
    throw new TypeError(`stream must be server, client or both, got ${inspectShort(stream)}`)
  if (typeof spec.handle !== 'function')
    throw new TypeError(`handle must be a function, got ${inspectShort(spec.handle)}`)
  const isGenerator = GENERATORS.includes(Object.prototype.toString.call(spec.handle))
  if (isGenerator && stream !== 'server' && stream !== 'both')
    throw new TypeError("handle is a generator: its endpoint must have stream: 'server' or 'both'")
  if (idempotent !== undefined && typeof idempotent !== 'boolean')
    throw new TypeError(`idempotent must be true or false, got ${inspectShort(idempotent)}`)
  if (typeof readOnly !== 'boolean')
    throw new TypeError(`readOnly must be true or false, got ${inspectShort(readOnly)}`)
  if (
    typeof policies !== 'object' ||
    Object.values(policies).some((each) => typeof each !== 'object')
  )
    throw new TypeError(
      `policies must be a map of plugins and their options, such as { 'body-limit': { limit: '64kb' } }, got ${inspectShort(policies)}`,
    )
  if (typeof description !== 'string')
    throw new TypeError(`description must be a string, got ${inspectShort(description)}`)
  return {
    kind: stream,
    request: spec.request,
    response: spec.response,
    idempotent,
    readOnly,
    description,
    http,
    policies,
    handle: (spec.handle as (request: unknown, ctx: Context) => unknown).bind(spec),
  }
}

/**
 * Validates a table of endpoints, including their routes.
 *
 * @throws {TypeError} for an invalid name, a value not created by {@link endpoint}, or an invalid route.
 */
export function checkEndpoints(handler: string, endpoints: Endpoints): void {
  if (typeof endpoints !== 'object' || endpoints === null)
    throw new TypeError(
      `handler ${inspectShort(handler)} must be an object of endpoints, { call: endpoint({ ... }) }, got ${inspectShort(endpoints)}`,
    )
  for (const [method, definition] of Object.entries(endpoints)) {
    const name = toEndpointName(handler, method)
    const { kind, handle, http } = (definition ?? {}) as Partial<EndpointDefinition>
    if (!KINDS.includes(kind as EndpointKind) || typeof handle !== 'function')
      throw new TypeError(
        `${name} must be created by endpoint({ ... }), got ${inspectShort(definition)}`,
      )
    if (http !== undefined) checkRoute(name, http)
  }
}

/**
 * Name of an endpoint: handler and method, both capitalized.
 *
 * @throws {TypeError} unless both are letters and digits that start with a letter.
 */
export function toEndpointName(handler: string, method: string): string {
  for (const [part, name] of [
    ['handler', handler],
    ['method', method],
  ] as const) {
    if (typeof name !== 'string' || !NAME.test(name))
      throw new TypeError(
        `${part} must consist of letters and digits and start with a letter, got ${inspectShort(name)}`,
      )
  }
  return `${capitalize(handler)}.${capitalize(method)}`
}

function capitalize(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}
