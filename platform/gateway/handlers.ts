import type { Handler, Step } from '../../core/chain.ts'
import type { Exchange } from '../../core/exchange.ts'
import { Upstream, type UpstreamOptions } from '../../core/upstream/upstream.ts'
import call, { type CallOptions, isCall } from '../../handlers/call.ts'
import type { EventOptions } from '../../handlers/event.ts'
import { handlers } from '../../handlers/index.gen.ts'
import { HANDLERS } from '../../resolvers/endpoint/declared.ts'
import type { Settings } from '../settings/settings.ts'
import { createSlashCheck } from './routing/encoded-slashes.ts'

/** Where requests go that become events. */
export type EventSinks = Pick<EventOptions, 'broker' | 'stream'>

/** What handlers stand on. */
export interface HandlerContext {
  /** Where the events of the handler `event` go. */
  readonly events: EventSinks
  /** The nodes of a service that a request names itself. */
  readonly find: CallOptions['find']
  readonly upstream: (service: string) => UpstreamOptions
  /** Where nodes may be that only a caller names. */
  readonly isCallAllowed: (address: string) => boolean
}

/** The ends of a chain: how a request is routed, and how it is forwarded. */
export interface Forwarding {
  readonly route: Step
  readonly handle: Step
  /** Closes the handlers in use. */
  readonly close: () => Promise<void>
}

/** Name of the default handler: it goes by what endpoints declare, or services without any, else it is `rpc` (specification: handler-based mode). */
const DEFAULT = 'meta'

/** They send requests on as they are. */
const PROXIES: ReadonlySet<string> = new Set(['proxy', 'web'])

/**
 * The handler the settings name, and `/rpc`, which is served beside each of them (reference 15.3).
 *
 * @param route the step that routes everything else.
 */
export function createForwarding(
  settings: Settings,
  { events, find, upstream, isCallAllowed }: HandlerContext,
  route: Step,
): Forwarding {
  const options = {
    ...events,
    connectTimeoutMs: settings.connectTimeoutMs,
    maxMessageBytes: settings.maxMessageBytes,
    timeoutMs: settings.replyTimeoutMs,
  }
  const explicit = call({
    timeoutMs: settings.replyTimeoutMs,
    find,
    open: (service, node) => {
      const opened = new Upstream(service, upstream(service))
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
  const own = build(isDefault ? 'rpc' : handler)
  if (isDefault) for (const name of ['api', 'event', 'proxy', 'web'] as const) build(name)
  const choose = (x: Exchange): Handler => {
    let asked = x.route!.handler
    if (asked === undefined && isDefault) {
      const wanted = x.upstream?.handler
      if (wanted !== undefined) asked = HANDLERS.get(wanted)
    }
    // Declared by an endpoint or its service, which only the default handler goes by, or by the route step above.
    if (asked === undefined || (!isDefault && asked !== explicit.name)) return own
    return built.get(asked) ?? own
  }
  const checkSlashes = createSlashCheck(settings)
  const arrive = (x: Exchange): void => {
    if (x.route === undefined) return
    x.handler = choose(x)
    x.proxied = PROXIES.has(x.handler.name)
    checkSlashes?.(x)
  }
  return {
    route: (x) => {
      const pending = isCall(x) ? explicit.route(x) : route(x)
      return pending === undefined ? arrive(x) : pending.then(() => arrive(x))
    },
    handle: (x) => x.handler!.handle(x),
    close: async () => {
      for (const { close } of built.values()) await close?.()
    },
  }
}
