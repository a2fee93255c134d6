import type { Handler, Step } from '../../core/chain.ts'
import type { Exchange } from '../../core/exchange.ts'
import { Upstream } from '../../core/upstream/upstream.ts'
import type { UpstreamOptions } from '../../core/upstream/upstream-options.ts'
import call, { type CallOptions, isCall } from '../../handlers/call.ts'
import type { EventOptions } from '../../handlers/event.ts'
import { handlers } from '../../handlers/index.gen.ts'
import { HANDLERS } from '../../resolvers/endpoint/declared.ts'
import type { Settings } from '../settings/settings.ts'

/** Targets of the `event` handler. */
export type EventSinks = Pick<EventOptions, 'broker' | 'stream'>

export interface HandlerContext {
  readonly events: EventSinks
  /** Finds the nodes of a service that the request names explicitly. */
  readonly find: CallOptions['find']
  readonly upstream: (service: string) => UpstreamOptions
  /** Rejects requests after routing. @default none */
  readonly check?: ((x: Exchange) => void) | undefined
  /** Returns whether a caller may specify this node address. */
  readonly isCallAllowed: (address: string) => boolean
}

/** Routing and forwarding steps at the end of a chain. */
export interface Forwarding {
  readonly route: Step
  readonly handle: Step
  /** Closes the handlers in use. */
  readonly close: () => Promise<void>
}

/**
 * The default handler uses the handler of the endpoint, otherwise the handler of the service,
 * otherwise `rpc` (specification: handler-based mode).
 */
const DEFAULT = 'meta'

/** Handlers that forward requests unchanged. */
const PROXIES: ReadonlySet<string> = new Set(['proxy', 'web'])

/**
 * Creates the configured handler and `/rpc`, which is served regardless of the handler (reference
 * 15.3).
 *
 * @param route step that routes all other requests.
 */
export function createForwarding(
  settings: Settings,
  { events, find, upstream, check, isCallAllowed }: HandlerContext,
  route: Step,
): Forwarding {
  const options = {
    ...events,
    maxMessageBytes: settings.maxMessageBytes,
    timeoutMs: settings.replyTimeoutMs,
  }
  const explicit = call({
    timeoutMs: settings.replyTimeoutMs,
    find,
    open: (service, node) => {
      const opened = new Upstream(service, {
        ...{ ...upstream(service), onSettings: undefined, policies: undefined },
      })
      opened.update([
        { name: service, version: 'latest', metadata: {}, endpoints: [], nodes: [node] },
      ])
      return opened
    },
    isAllowed: isCallAllowed,
  })
  const built = new Map<string, Handler>([[explicit.name, explicit]])
  const build = (name: Exclude<keyof typeof handlers, 'call'>): Handler => {
    const handler = handlers[name](options)
    built.set(handler.name, handler)
    return handler
  }
  const { handler } = settings
  const isDefault = handler === DEFAULT
  const fallback = build(isDefault ? 'rpc' : handler)
  // A route may specify any handler.
  for (const name of ['api', 'event', 'proxy', 'rpc', 'web'] as const)
    if (!built.has(name)) build(name)
  const choose = (x: Exchange): Handler => {
    const { rule } = x.route!
    if (rule?.handler !== undefined) return rule.handler
    let name = x.route!.handler
    if (name === undefined && isDefault) {
      const declared = x.upstream?.handler
      if (declared !== undefined) name = HANDLERS.get(declared)
    }
    // Only the default handler uses handlers declared by services. The `/rpc` handler is selected
    // by the route step below.
    if (name === undefined || (!isDefault && rule === undefined && name !== explicit.name))
      return fallback
    return built.get(name) ?? fallback
  }
  const onRouted = (x: Exchange): void => {
    if (x.route === undefined) return
    x.route.rule?.rewrite?.(x)
    x.handler = choose(x)
    x.proxied = PROXIES.has(x.handler.name)
    check?.(x)
  }
  return {
    route: (x) => {
      const pending = isCall(x) ? explicit.route(x) : route(x)
      return pending === undefined ? onRouted(x) : pending.then(() => onRouted(x))
    },
    handle: (x) => x.handler!.handle(x),
    close: async () => {
      for (const { close } of built.values()) await close?.()
    },
  }
}
