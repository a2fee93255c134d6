import type { Maybe } from '../lib/async/maybe.ts'
import { GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'

/**
 * One stage of the chain. It stops the chain by responding.
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
 * A missing hook is not part of the compiled chain and costs nothing.
 */
export interface Plugin {
  /** Kebab-case and equal to the file name; used in configuration and logs. */
  readonly name: string
  /** Before routing: ids, limits, CORS. */
  readonly onRequest?: Step
  /** `x.route` is known: authorization, rate limits. */
  readonly onRoute?: Step
  /** Before the first byte of any response, errors included: may change `x.status` and `x.replyHeaders`. */
  readonly onReply?: (x: Exchange) => void
  /** After the last byte, or when the client disconnected (`x.aborted`). Adds no latency. */
  readonly onDone?: (x: Exchange) => void
  /** Releases timers and files. Awaited once, in reverse order of the list. */
  readonly close?: () => Maybe<void>
}

/** The last step: forwards a routed exchange and responds. */
export interface Handler {
  /** `api`, `rpc`, `proxy`, `event` or `web` (specification: the handler table). */
  readonly name: string
  readonly handle: Step
  readonly close?: () => Maybe<void>
}

/** Owner of a step or hook of a chain: read only when it throws. */
export interface Stage {
  /** Name of the plugin; undefined: the gateway itself. */
  readonly plugin: string | undefined
  readonly hook: keyof Omit<Plugin, 'name'> | 'route' | 'handle'
}

/**
 * Called for every unexpected error of a plugin, a handler or the gateway.
 *
 * `x` is undefined for an error outside an exchange, `stage` when its origin is unknown.
 */
export type ReportFault = (
  error: unknown,
  x: Exchange | undefined,
  stage: Stage | undefined,
) => void

/** Plugins, resolver and handler as flat lists: compiled once per configuration. */
export interface Chain {
  readonly plugins: readonly Plugin[]
  readonly steps: readonly Step[]
  readonly onReply: readonly ((x: Exchange) => void)[]
  readonly onDone: readonly ((x: Exchange) => void)[]
  /** Owners of the steps and hooks, by index. */
  readonly stages: {
    readonly steps: readonly Stage[]
    readonly onReply: readonly Stage[]
    readonly onDone: readonly Stage[]
  }
  /** Exchanges in flight: the chain may be closed at 0. */
  active: number
  /** Closes the plugins in reverse order and reports those that fail. The handler is closed by its creator. */
  readonly close: (onFault: ReportFault) => Promise<void>
}

/** Flattens the hooks of `plugins` around the steps `route` and `handle`. */
export function compileChain(plugins: readonly Plugin[], route: Step, handle: Step): Chain {
  const stagesOf = (hook: keyof Omit<Plugin, 'name'>): Stage[] =>
    plugins.flatMap((plugin) => (plugin[hook] ? { plugin: plugin.name, hook } : []))
  return {
    plugins,
    steps: [
      ...plugins.flatMap((plugin) => plugin.onRequest?.bind(plugin) ?? []),
      route,
      ...plugins.flatMap((plugin) => plugin.onRoute?.bind(plugin) ?? []),
      handle,
    ],
    onReply: plugins.flatMap((plugin) => plugin.onReply?.bind(plugin) ?? []),
    onDone: plugins.flatMap((plugin) => plugin.onDone?.bind(plugin) ?? []),
    stages: {
      steps: [
        ...stagesOf('onRequest'),
        { plugin: undefined, hook: 'route' },
        ...stagesOf('onRoute'),
        { plugin: undefined, hook: 'handle' },
      ],
      onReply: stagesOf('onReply'),
      onDone: stagesOf('onDone'),
    },
    active: 0,
    close: async (onFault) => {
      for (const plugin of plugins.toReversed()) {
        try {
          await plugin.close?.()
        } catch (error) {
          onFault(error, undefined, { plugin: plugin.name, hook: 'close' })
        }
      }
    },
  }
}

/**
 * Runs `steps` in order until one responds. Synchronous and free of allocations until a step returns a promise.
 * Sets `x.step` to the index of a step that throws or is pending.
 */
export function runSteps(steps: readonly Step[], x: Exchange, from = 0): Maybe<void> {
  let i = from
  try {
    for (; i < steps.length && !x.answered; i++) {
      const pending = steps[i]!(x)
      if (pending === undefined) continue
      x.step = i
      return resumeSteps(pending, steps, x, i + 1)
    }
  } catch (error) {
    x.step = i
    throw error
  }
}

/** Separate function: a closure in `runSteps` would allocate a context for every request. */
function resumeSteps(
  pending: Promise<void>,
  steps: readonly Step[],
  x: Exchange,
  from: number,
): Promise<void> {
  return pending.then(() => runSteps(steps, x, from))
}

/** Runs the `onDone` hooks. A hook that throws is reported and does not stop the others. */
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
 * Runs the `onReply` hooks for an error response that replaces another response. A hook that throws does not stop the
 * others; it is reported unless it throws a {@link GatewayError}.
 *
 * @param failedHook index of the hook that is skipped; -1: none.
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
