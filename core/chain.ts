import type { Maybe } from '../lib/async/maybe.ts'
import { GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'

/**
 * One stage of the chain. It stops the chain by replying.
 *
 * @throws {GatewayError} to answer with its `{Id, Code, Detail, Status}` body;
 *   anything else thrown becomes a 500 (specification: Errors 3 and 4).
 */
export type Step = (x: Exchange) => Maybe<void>

/**
 * Looks at exchanges on their way in, at their replies, and at what became of them.
 *
 * Life of a plugin: its factory checks the options and builds it; the hooks run for
 * every exchange, in the order of the plugin list; `close` ends it, on shutdown or
 * when a reload replaced it and its last exchange is done.
 *
 * Implement only the hooks you need: a missing hook is left out of the compiled
 * chain and costs nothing.
 */
export interface Plugin {
  /** Kebab-case and equal to the file name; used in configuration and logs. */
  readonly name: string
  /** Before routing: ids, limits, CORS. */
  readonly onRequest?: Step
  /** `x.route` is known: authorization, rate limits. */
  readonly onRoute?: Step
  /** Before the first byte of any reply, errors included: may change `x.status` and `x.replyHeaders`. */
  readonly onReply?: (x: Exchange) => void
  /** After the last byte, or when the client left (`x.aborted`). Its time is not the client's. */
  readonly onDone?: (x: Exchange) => void
  /** Releases timers and files. Awaited once, in reverse order of the list. */
  readonly close?: () => Maybe<void>
}

/** The last step: forwards a routed exchange and replies. */
export interface Handler {
  /** `api`, `rpc`, `proxy`, `event` or `web` (specification: the handler table). */
  readonly name: string
  readonly handle: Step
  readonly close?: () => Maybe<void>
}

/** Whose code stands at a place of a chain's lists: read only when it throws. */
export interface Stage {
  /** Name of the plugin; undefined: the gateway's own. */
  readonly plugin: string | undefined
  readonly hook: keyof Omit<Plugin, 'name'> | 'route' | 'handle'
}

/**
 * Told of everything thrown that is no answer: a fault of a plugin, a handler or the gateway.
 *
 * `x` is undefined when it belongs to no exchange, `stage` when nobody knows whose it is.
 */
export type ReportFault = (
  error: unknown,
  x: Exchange | undefined,
  stage: Stage | undefined,
) => void

/** Plugin list, resolver and handler as flat lists: compiled once per configuration. */
export interface Chain {
  /** In the order of the list. */
  readonly plugins: readonly Plugin[]
  readonly steps: readonly Step[]
  readonly onReply: readonly ((x: Exchange) => void)[]
  readonly onDone: readonly ((x: Exchange) => void)[]
  /** Whose each of them is, place by place. */
  readonly stages: {
    readonly steps: readonly Stage[]
    readonly onReply: readonly Stage[]
    readonly onDone: readonly Stage[]
  }
  /** Exchanges it serves at the moment: it may be closed once they are done. */
  active: number
  /** Closes the plugins in reverse order; one that fails is reported and keeps none of the others open. The handler belongs to whoever created it. */
  readonly close: (onFault: ReportFault) => Promise<void>
}

/** Flattens the hooks of `plugins` around the step that routes and the one that handles. */
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
 * Runs `steps` in order until one replies. Stays synchronous, and allocates nothing, until one returns a promise.
 * The place of one that throws, or is waited for, is `x.step`.
 */
export function runSteps(steps: readonly Step[], x: Exchange, from = 0): Maybe<void> {
  let i = from
  try {
    for (; i < steps.length && !x.answered; i++) {
      const pending = steps[i]!(x)
      if (pending === undefined) continue
      x.step = i
      return goOn(pending, steps, x, i + 1)
    }
  } catch (error) {
    x.step = i
    throw error
  }
}

/** A function of its own: a closure above would cost every request the variables it holds on to. */
function goOn(
  pending: Promise<void>,
  steps: readonly Step[],
  x: Exchange,
  from: number,
): Promise<void> {
  return pending.then(() => runSteps(steps, x, from))
}

/** Runs the `onDone` hooks. One that throws is reported and does not stop the others. */
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
 * Runs the `onReply` hooks for an error response that replaces another response. One that throws is reported, unless it
 * throws a {@link GatewayError}, and does not stop the others.
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
