import {
  type EndpointDefinition,
  type Endpoints,
  type KindOf,
  type RequestOf,
  type ResponseOf,
  toEndpointName,
} from '../service/endpoint.ts'
import type { CallOptions, Client } from './client.ts'
import type { CallStream } from './streams/call-stream.ts'
import type { Requests } from './streams/stream-call.ts'

/** Handlers of a service, from its type or the type of its handlers. */
export type HandlersOf<T> = T extends { readonly '~handlers': infer H } ? H : T

/** Typed client of a service, by handler and method. */
export type ServiceProxy<T> = {
  readonly [Handler in keyof HandlersOf<T>]: HandlersOf<T>[Handler] extends Endpoints
    ? HandlerProxy<HandlersOf<T>[Handler]>
    : never
}

export type HandlerProxy<E extends Endpoints> = {
  readonly [Method in keyof E]: EndpointProxy<E[Method]>
}

/** Arguments of a call: the request is optional if it may be empty. */
type CallArguments<Q> =
  Record<never, never> extends Q
    ? [request?: Q, options?: CallOptions]
    : [request: Q, options?: CallOptions]

/** An endpoint: a function if it is unary, else an object with a `stream` method. */
export type EndpointProxy<E extends EndpointDefinition> =
  KindOf<E> extends 'unary'
    ? (...args: CallArguments<RequestOf<E>>) => Promise<ResponseOf<E>>
    : KindOf<E> extends 'server'
      ? {
          /** Starts a call with one request and a streamed response. */
          readonly stream: (
            ...args: CallArguments<RequestOf<E>>
          ) => CallStream<RequestOf<E>, ResponseOf<E>>
        }
      : {
          /** Starts a call with a stream of requests. If `requests` is omitted, send them through `send` and `end`. */
          readonly stream: (
            requests?: Requests<RequestOf<E>>,
            options?: CallOptions,
          ) => CallStream<RequestOf<E>, ResponseOf<E>>
        }

/** Creates the proxy of a service. The endpoints are known only to its type. */
export function createServiceProxy<T>(
  client: Client,
  service: string,
  options: CallOptions,
): ServiceProxy<T> {
  const withDefaults = (callOptions: CallOptions | undefined): CallOptions =>
    callOptions === undefined ? options : { ...options, ...callOptions }
  return createNames((handler) =>
    createNames((method) => {
      const endpoint = toEndpointName(handler, method)
      const call = (request: unknown, callOptions?: CallOptions): Promise<unknown> =>
        client.call(service, endpoint, request, withDefaults(callOptions))
      const stream = (requests: unknown, callOptions?: CallOptions): CallStream =>
        client.stream(service, endpoint, requests, withDefaults(callOptions))
      return Object.assign(call, { stream })
    }),
  ) as ServiceProxy<T>
}

/** Creates an object whose members are created on first access. */
function createNames<M>(create: (name: string) => M): Record<string, M> {
  return new Proxy<Record<string, M>>(Object.create(null), {
    get(members, name) {
      // An object with a `then` would be treated as a promise by async functions.
      if (typeof name === 'symbol' || name === 'then') return undefined
      members[name] ??= create(name)
      return members[name]
    },
  })
}
