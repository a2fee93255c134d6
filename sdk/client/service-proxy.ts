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

/** What a service declares, by handler: from its own type, or from that of its handlers. */
export type HandlersOf<T> = T extends { readonly '~handlers': infer H } ? H : T

/** A service as its callers have it: by handler and method, as declared. */
export type ServiceProxy<T> = {
  readonly [Handler in keyof HandlersOf<T>]: HandlersOf<T>[Handler] extends Endpoints
    ? HandlerProxy<HandlersOf<T>[Handler]>
    : never
}

/** The endpoints of a handler. */
export type HandlerProxy<E extends Endpoints> = {
  readonly [Method in keyof E]: EndpointProxy<E[Method]>
}

/** What a call is given: a request that may be empty can be left out. */
type CallArguments<Q> =
  Record<never, never> extends Q
    ? [request?: Q, options?: CallOptions]
    : [request: Q, options?: CallOptions]

/** An endpoint: a function where it answers one request with one reply, else with a method `stream`. */
export type EndpointProxy<E extends EndpointDefinition> =
  KindOf<E> extends 'unary'
    ? (...args: CallArguments<RequestOf<E>>) => Promise<ResponseOf<E>>
    : KindOf<E> extends 'server'
      ? {
          /** Calls with one request; the replies are a stream. */
          readonly stream: (
            ...args: CallArguments<RequestOf<E>>
          ) => CallStream<RequestOf<E>, ResponseOf<E>>
        }
      : {
          /** Calls with a stream of requests; left out, they follow by `send` and `end`. */
          readonly stream: (
            requests?: Requests<RequestOf<E>>,
            options?: CallOptions,
          ) => CallStream<RequestOf<E>, ResponseOf<E>>
        }

/** Builds the proxy of a service: which endpoints there are, only its type knows. */
export function createServiceProxy<T>(
  client: Client,
  service: string,
  options: CallOptions,
): ServiceProxy<T> {
  const withDefaults = (own: CallOptions | undefined): CallOptions =>
    own === undefined ? options : { ...options, ...own }
  return createNames((handler) =>
    createNames((method) => {
      const endpoint = toEndpointName(handler, method)
      const call = (request: unknown, own?: CallOptions): Promise<unknown> =>
        client.call(service, endpoint, request, withDefaults(own))
      const stream = (requests: unknown, own?: CallOptions): CallStream =>
        client.stream(service, endpoint, requests, withDefaults(own))
      return Object.assign(call, { stream })
    }),
  ) as ServiceProxy<T>
}

/** An object that has every member that is asked for, made then and kept. */
function createNames<M>(create: (name: string) => M): Record<string, M> {
  return new Proxy<Record<string, M>>(Object.create(null), {
    get(members, name) {
      // With a `then` it would be taken for a promise where it is returned by an async function.
      if (typeof name === 'symbol' || name === 'then') return undefined
      members[name] ??= create(name)
      return members[name]
    },
  })
}
