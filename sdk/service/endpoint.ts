import type { TUnknown } from '../../core/schema.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import type { Context } from '../context.ts'
import type { Decoded, Returned, Schema, WireRequest, WireResponse } from '../schema/schema.ts'
import { checkRoute, type HttpRoute } from './http-route.ts'

/**
 * Who sends more than one message.
 * - `unary`: nobody, one request has one response.
 * - `server`: the service answers with a stream.
 * - `client`: the caller sends a stream.
 * - `both`: either does, independently.
 */
export type EndpointKind = 'unary' | 'server' | 'client' | 'both'

/** What a handler is called with. */
export type HandlerRequest<K extends EndpointKind, Q> = K extends 'client' | 'both'
  ? AsyncIterable<Decoded<Q>>
  : Decoded<Q>

/** Iterates, and may tell at once what there is. */
export interface PromptIterator<T> {
  /** The next message. */
  next(): Maybe<IteratorResult<T>>
  /** Nobody wants more. */
  return?(): Maybe<unknown>
}

/** What is iterated asynchronously, where thousands of messages that are there already need no promises. */
export interface PromptIterable<T> {
  /** Called once. */
  [Symbol.asyncIterator](): PromptIterator<T>
}

/** What a handler returns: a stream is anything that can be iterated, such as what `async *handle()` returns. */
export type HandlerResponse<K extends EndpointKind, R> = K extends 'server' | 'both'
  ? PromptIterable<Returned<R>> | AsyncIterable<Returned<R>> | Iterable<Returned<R>>
  : Maybe<Returned<R>>

/** How an endpoint is declared. */
export interface EndpointSpec<Q extends Schema, R extends Schema, K extends EndpointKind> {
  /** What requests look like. @default anything, and the handler gets `unknown` */
  readonly request?: Q
  /** What responses look like. @default anything */
  readonly response?: R
  /** Who sends a stream. @default nobody */
  readonly stream?: K
  /** Whether a call that failed with 500 or 408 may be repeated (specification: Errors 5). Callers are told, in the error and by the registry. @default true */
  readonly idempotent?: boolean
  /** Whether it changes nothing (RFC 9110 §9.2.1, safe). Of the built-in services, browsers may navigate to no others. @default false */
  readonly readOnly?: boolean
  /** What it does, for people. */
  readonly description?: string
  readonly http?: HttpRoute
  /**
   * Serves a call. A typed error it throws is the answer; anything else becomes a 500 that tells callers nothing.
   */
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
  readonly idempotent: boolean
  readonly readOnly: boolean
  readonly description: string
  readonly http: HttpRoute | undefined
  /** Loosely typed: a table of endpoints holds all kinds. */
  readonly handle: (request: never, ctx: Context) => unknown
}

/** The endpoints of a handler by method name: `call` of the handler `Helloworld` is `Helloworld.Call`. */
export type Endpoints = Readonly<Record<string, EndpointDefinition>>

/** What callers send to an endpoint, in JSON. */
export type RequestOf<E> =
  E extends EndpointDefinition<infer Q, infer _R, infer _K> ? WireRequest<Q> : never

/** What callers get of an endpoint, in JSON. */
export type ResponseOf<E> =
  E extends EndpointDefinition<infer _Q, infer R, infer _K> ? WireResponse<R> : never

/** Who sends a stream. */
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
 * @throws {TypeError} when the declaration contradicts itself.
 */
export function endpoint<
  Q extends Schema = TUnknown,
  R extends Schema = TUnknown,
  K extends EndpointKind = 'unary',
>(spec: EndpointSpec<Q, R, K>): EndpointDefinition<NoInfer<Q>, NoInfer<R>, NoInfer<K>> {
  rejectUnknownOptions('endpoint', spec, SPEC, true)
  const { stream = 'unary' as K, http, description = '' } = spec
  const { idempotent = true, readOnly = false } = spec
  if (!KINDS.includes(stream))
    throw new TypeError(`stream must be server, client or both, got ${inspectShort(stream)}`)
  if (typeof spec.handle !== 'function')
    throw new TypeError(`handle must be a function, got ${inspectShort(spec.handle)}`)
  const isGenerator = GENERATORS.includes(Object.prototype.toString.call(spec.handle))
  if (isGenerator && stream !== 'server' && stream !== 'both')
    throw new TypeError("handle is a generator: its endpoint must have stream: 'server' or 'both'")
  if (typeof idempotent !== 'boolean')
    throw new TypeError(`idempotent must be true or false, got ${inspectShort(idempotent)}`)
  if (typeof readOnly !== 'boolean')
    throw new TypeError(`readOnly must be true or false, got ${inspectShort(readOnly)}`)
  if (typeof description !== 'string')
    throw new TypeError(`description must be text, got ${inspectShort(description)}`)
  return {
    kind: stream,
    request: spec.request,
    response: spec.response,
    idempotent,
    readOnly,
    description,
    http,
    handle: (spec.handle as (request: unknown, ctx: Context) => unknown).bind(spec),
  }
}

/**
 * Checks a table of endpoints: what the compiler would say, and the routes, by the names of their endpoints.
 *
 * @throws {TypeError} for a name that is none, whatever was not made by {@link endpoint}, and a route no gateway can serve.
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
        `${name} must be made by endpoint({ ... }), got ${inspectShort(definition)}`,
      )
    if (http !== undefined) checkRoute(name, http)
  }
}

/**
 * Name of an endpoint: the handler and the method, both with a capital first.
 *
 * @throws {TypeError} when one is no letter followed by letters and digits.
 */
export function toEndpointName(handler: string, method: string): string {
  for (const [what, name] of [
    ['handler', handler],
    ['method', method],
  ] as const) {
    if (typeof name !== 'string' || !NAME.test(name))
      throw new TypeError(
        `${what} must be letters and digits, a letter first, got ${inspectShort(name)}`,
      )
  }
  return `${capitalize(handler)}.${capitalize(method)}`
}

function capitalize(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}
