import type { Duplex } from 'node:stream'
import type { Maybe } from '../lib/async/maybe.ts'
import type { Endpoint } from './contracts/registry.ts'
import { type ErrorPage, GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { CompleteResponse, ResponseAction } from './reply/complete-response.ts'

/**
 * A stage of the chain. A response stops the chain.
 *
 * @throws {GatewayError} sent as an `{Id, Code, Detail, Status}` body; anything else thrown becomes a 500
 *   (specification: Errors 3 and 4).
 */
export type Step = (x: Exchange) => Maybe<void>

/**
 * Hooks that run before routing, after routing, before the response and after the exchange.
 *
 * Lifecycle: the factory checks the options and creates the plugin; the hooks run for every exchange, in the order of
 * the plugin list; `close` runs on shutdown, or after the last exchange when a reload replaced the plugin.
 *
 * A missing hook is not part of the compiled chain and has no cost.
 */
export interface Plugin {
  /** Kebab-case and equal to the file name; used in configuration and logs. */
  readonly name: string
  /** Before routing: ids, limits, CORS. */
  readonly onRequest?: Step
  /** After routing, with `x.route` set: authorization, rate limits. */
  readonly onRoute?: Step
  /**
   * After all `onRoute` hooks, including the hooks of consumer and endpoint: responds instead of the handler, such
   * as with a stored response.
   */
  readonly onForward?: Step
  /**
   * Called before an error of the gateway (not of a service) is sent. Returns a body that replaces the standard one, a
   * response that replaces the error, or undefined. Plugins are called in reverse order of the list, plugins with
   * `onResponse` first. Not called for gRPC and Connect clients.
   */
  readonly onError?: (
    x: Exchange,
    error: GatewayError,
  ) => Maybe<ErrorPage | CompleteResponse | undefined>
  /**
   * Called with every response except gateway errors, before other plugins change it. `x.status` and `x.replyHeaders`
   * belong to the response. Returns an observer of the response, a response that replaces it, or undefined.
   *
   * @param length bytes of the body; -1 if unknown.
   */
  readonly onResponse?: (x: Exchange, length: number) => ResponseAction | undefined
  /**
   * Called before `onReply` for responses with a body, except gateway errors, partial content (206) and gRPC. Returns
   * how to change the body, or undefined. `x.status` and `x.replyHeaders` belong to the response. Also called for
   * responses to HEAD and for 304, which then have no length.
   *
   * @param length bytes of the body; -1 if unknown.
   */
  readonly onReplyBody?: (x: Exchange, length: number) => BodyChange | undefined
  /** Before the first byte of any response, errors included: may change `x.status` and `x.replyHeaders`. */
  readonly onReply?: (x: Exchange) => void
  /** After the last byte, or when the client disconnected (`x.aborted`). Adds no latency. */
  readonly onDone?: (x: Exchange) => void
  /** Releases timers and files. Awaited once, in reverse order of the plugin list. */
  readonly close?: () => Maybe<void>
}

/** How a plugin changes the body of a response, returned by its `onReplyBody` hook. May be shared by exchanges. */
export type BodyChange = BufferedBodyChange | StreamedBodyChange

/** A change of a complete body. A streamed body is buffered first. */
export interface BufferedBodyChange {
  /** Maximum size of the buffered body, in bytes. If it is exceeded, the response becomes a 502. */
  readonly maxBytes: number
  /**
   * Returns the new body, or undefined to leave it unchanged. May change `x.replyHeaders`. A thrown
   * {@link GatewayError} becomes the response.
   *
   * @param body valid during the call only; not empty.
   */
  readonly change: (body: Buffer, x: Exchange) => string | Uint8Array | undefined
  /**
   * Content coding that the change applies, after changes without one; sent as `Content-Encoding` (RFC 9110 §8.4).
   *
   * @default none
   */
  readonly coding?: string
}

/** A change of a body while it is sent, after all buffered changes. The response has no `Content-Length`. */
export interface StreamedBodyChange {
  /** Returns a stream that reads the body and writes the new one, such as one of `node:zlib`. It is destroyed at the end. */
  readonly createStream: (x: Exchange) => Duplex
  /** Content coding that the stream applies, sent as `Content-Encoding` (RFC 9110 §8.4). @default none */
  readonly coding?: string
}

/** The last step: forwards a routed exchange and responds. */
export interface Handler {
  /** `api`, `rpc`, `proxy`, `event` or `web` (specification: the handler table). */
  readonly name: string
  readonly handle: Step
  readonly close?: () => Maybe<void>
}

/** Owner of a step or hook of a chain, read only after it threw. */
export interface Stage {
  /** Name of the plugin; undefined for the gateway itself. */
  readonly plugin: string | undefined
  /** `scope`: continues with the plugins of a scope. */
  readonly hook: keyof Omit<Plugin, 'name'> | 'route' | 'scope' | 'handle'
}

/**
 * Called for unexpected errors of plugins, handlers and the gateway.
 *
 * `x` is undefined for an error outside an exchange, `stage` if its origin is unknown.
 */
export type ReportFault = (
  error: unknown,
  x: Exchange | undefined,
  stage: Stage | undefined,
) => void

/** Plugins, resolver and handler as flat lists, compiled once per configuration. */
export interface Chain {
  readonly plugins: readonly Plugin[]
  readonly steps: readonly Step[]
  /** In call order. */
  readonly onError: readonly NonNullable<Plugin['onError']>[]
  readonly onResponse: readonly NonNullable<Plugin['onResponse']>[]
  readonly onReplyBody: readonly NonNullable<Plugin['onReplyBody']>[]
  readonly onReply: readonly ((x: Exchange) => void)[]
  readonly onDone: readonly ((x: Exchange) => void)[]
  /** Whether a plugin observes, replaces or changes response bodies. */
  readonly changesReplies: boolean
  /** The steps after `onForward`, which forward a routed request. */
  readonly forward: readonly Step[]
  /** Distinguishes the plugin lists of routes, services and consumers; empty for the plugins of the gateway. */
  readonly variant: string
  /** Owners of the steps and hooks, by index. */
  readonly stages: {
    readonly steps: readonly Stage[]
    readonly onError: readonly Stage[]
    readonly onResponse: readonly Stage[]
    readonly onReplyBody: readonly Stage[]
    readonly onReply: readonly Stage[]
    readonly onDone: readonly Stage[]
  }
  /** Chains of routes and services with their own plugins, by name. The steps up to routing are the same. */
  readonly scopes: ReadonlyMap<string, Chain>
  /**
   * Returns the chain with the plugins that an endpoint declares, or undefined if none. The steps up to routing are the
   * same.
   */
  readonly ofEndpoint: (service: string, endpoint: Endpoint) => Chain | undefined
  /**
   * Returns the chain with the plugins of a consumer, or undefined if none. The steps up to authentication are the
   * same.
   */
  readonly ofConsumer: (key: string) => Chain | undefined
  /** Number of exchanges in flight, including its scopes. The chain may be closed at 0. */
  readonly use: { active: number }
  /**
   * Closes the plugins, including scope plugins, in reverse order and reports failures. The creator closes the
   * handler.
   */
  readonly close: (onFault: ReportFault) => Promise<void>
}

/**
 * Runs `steps` in order until one responds; after routing, the steps of the scope. Synchronous and allocation-free
 * until a step returns a promise. Sets `x.step` to the index of a step that throws or is pending.
 */
export function runSteps(steps: readonly Step[], x: Exchange, from = 0): Maybe<void> {
  let { chain } = x
  let current = steps
  let i = from
  try {
    for (; i < current.length && !x.answered; i++) {
      const pending = current[i]!(x)
      if (x.chain !== chain) {
        chain = x.chain
        current = chain.steps
      }
      if (pending === undefined) continue
      x.step = i
      return resumeSteps(pending, current, x, i + 1)
    }
  } catch (error) {
    x.step = i
    throw error
  }
}

/** Separate function because a closure in `runSteps` would allocate a context for every request. */
function resumeSteps(
  pending: Promise<void>,
  steps: readonly Step[],
  x: Exchange,
  from: number,
): Promise<void> {
  return pending.then(() => runSteps(steps, x, from))
}

/**
 * Passes the first result of an `onError` hook to `send`, or undefined for the standard body. A failing hook is
 * reported and ignored.
 */
export function findErrorPage(
  { onError, stages }: Chain,
  x: Exchange,
  error: GatewayError,
  onFault: ReportFault | undefined,
  send: (page: ErrorPage | CompleteResponse | undefined) => void,
): void {
  for (let i = 0; i < onError.length; i++) {
    const fail = (fault: unknown): void => onFault?.(fault, x, stages.onError[i])
    try {
      const page = onError[i]!(x, error)
      if (page instanceof Promise) {
        void page.catch(fail).then((found) => send(found ?? undefined))
        return
      }
      if (page !== undefined) return send(page)
    } catch (fault) {
      fail(fault)
    }
  }
  send(undefined)
}

/** Runs the `onDone` hooks. A throwing hook is reported and does not stop the remaining hooks. */
export function runDoneHooks(chain: Chain, x: Exchange, onFault: ReportFault | undefined): void {
  const hooks = chain.onDone
  for (let i = 0; i < hooks.length; i++) {
    try {
      hooks[i]!(x)
    } catch (error) {
      onFault?.(error, x, chain.stages.onDone[i])
    }
  }
}

/**
 * Runs the `onReply` hooks for an error response that replaces another response. A throwing hook does not stop the
 * others; it is reported unless it throws a {@link GatewayError}.
 *
 * @param failedHook index of the hook to skip; -1 if none.
 */
export function runErrorHooks(
  chain: Chain,
  x: Exchange,
  failedHook: number,
  onFault: ReportFault | undefined,
): void {
  for (const [i, hook] of chain.onReply.entries()) {
    if (i === failedHook) continue
    try {
      hook(x)
    } catch (error) {
      if (!(error instanceof GatewayError)) onFault?.(error, x, chain.stages.onReply[i])
    }
  }
}
