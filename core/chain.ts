import type { Maybe } from '../lib/async/maybe.ts'
import { type ErrorPage, GatewayError } from './errors.ts'
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
  /**
   * Before an error of the gateway is sent, not one of a service: returns a body in place of the standard one, or undefined. The plugin
   * listed last is called first. Not called for clients of gRPC and Connect.
   */
  readonly onError?: (x: Exchange, error: GatewayError) => Maybe<ErrorPage | undefined>
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
  /** In the order of the calls. */
  readonly onError: readonly NonNullable<Plugin['onError']>[]
  readonly onReply: readonly ((x: Exchange) => void)[]
  readonly onDone: readonly ((x: Exchange) => void)[]
  /** Owners of the steps and hooks, by index. */
  readonly stages: {
    readonly steps: readonly Stage[]
    readonly onError: readonly Stage[]
    readonly onReply: readonly Stage[]
    readonly onDone: readonly Stage[]
  }
  /** Chains of routes and services with plugins of their own, by name. They begin with the same steps, up to routing. */
  readonly scopes: ReadonlyMap<string, Chain>
  /** Exchanges in flight, of its scopes, too: the chain may be closed at 0. */
  readonly use: { active: number }
  /** Closes the plugins, of its scopes, too, in reverse order and reports failures. The handler is closed by its creator. */
  readonly close: (onFault: ReportFault) => Promise<void>
}

const NO_SCOPES: ReadonlyMap<string, readonly Plugin[]> = new Map()

/**
 * Flattens the hooks of `plugins` around the steps `route` and `handle`.
 *
 * @param scopes plugins of routes, by `RouteRule.scope`, and of services, by full name. They run after routing, and replace plugins of the
 *   same name.
 */
export function compileChain(
  plugins: readonly Plugin[],
  route: Step,
  handle: Step,
  scopes: ReadonlyMap<string, readonly Plugin[]> = NO_SCOPES,
): Chain {
  const scoped = [...scopes.values()].flat()
  // A plugin that some scope replaces runs after routing, when it is known which one applies.
  const isDeferred = ({ name }: Plugin): boolean => scoped.some((other) => other.name === name)
  const first = [
    ...listHooks(
      plugins.filter((plugin) => !isDeferred(plugin)),
      'onRequest',
    ),
    toHook('route', route),
    ...(scopes.size > 0 ? [toHook('route', enterScope)] : []),
  ]
  const use = { active: 0 }
  const compile = (applied: readonly Plugin[], chains: Chain['scopes']): Chain => {
    const steps = [
      ...first,
      ...listHooks(applied.filter(isDeferred), 'onRequest'),
      ...listHooks(applied, 'onRoute'),
      toHook('handle', handle),
    ]
    const onError = listHooks(applied, 'onError').reverse()
    const onReply = listHooks(applied, 'onReply')
    const onDone = listHooks(applied, 'onDone')
    return {
      plugins: applied,
      steps: steps.map(({ run }) => run),
      onError: onError.map(({ run }) => run),
      onReply: onReply.map(({ run }) => run),
      onDone: onDone.map(({ run }) => run),
      stages: {
        steps: steps.map(({ stage }) => stage),
        onError: onError.map(({ stage }) => stage),
        onReply: onReply.map(({ stage }) => stage),
        onDone: onDone.map(({ stage }) => stage),
      },
      scopes: chains,
      use,
      close: (onFault) => closePlugins([...plugins, ...new Set(scoped)], onFault),
    }
  }
  const chains = [...scopes].map(([name, own]): [string, Chain] => {
    const others = plugins.filter((plugin) => !own.some((other) => other.name === plugin.name))
    return [name, compile([...others, ...own], new Map())]
  })
  return compile(plugins, new Map(chains))
}

interface Hook<T> {
  readonly stage: Stage
  readonly run: T
}

function listHooks<K extends 'onRequest' | 'onRoute' | 'onError' | 'onReply' | 'onDone'>(
  plugins: readonly Plugin[],
  hook: K,
): Hook<NonNullable<Plugin[K]>>[] {
  return plugins.flatMap((plugin) => {
    const run = plugin[hook]?.bind(plugin) as NonNullable<Plugin[K]> | undefined
    return run === undefined ? [] : [{ stage: { plugin: plugin.name, hook }, run }]
  })
}

function toHook(hook: 'route' | 'handle', run: Step): Hook<Step> {
  return { stage: { plugin: undefined, hook }, run }
}

/** Continues with the chain of the scope. */
function enterScope(x: Exchange): void {
  const { route } = x
  if (route !== undefined)
    x.chain = x.chain.scopes.get(route.rule?.scope ?? route.service) ?? x.chain
}

async function closePlugins(plugins: readonly Plugin[], onFault: ReportFault): Promise<void> {
  for (const plugin of plugins.toReversed()) {
    try {
      await plugin.close?.()
    } catch (error) {
      onFault(error, undefined, { plugin: plugin.name, hook: 'close' })
    }
  }
}

/**
 * Runs `steps` in order until one responds, from routing on the steps of the scope. Synchronous and free of allocations until a
 * step returns a promise. Sets `x.step` to the index of a step that throws or is pending.
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

/** Separate function: a closure in `runSteps` would allocate a context for every request. */
function resumeSteps(
  pending: Promise<void>,
  steps: readonly Step[],
  x: Exchange,
  from: number,
): Promise<void> {
  return pending.then(() => runSteps(steps, x, from))
}

/**
 * Passes the first body that an `onError` hook has for an error to `send`; undefined: the standard one. A hook that fails is reported, and
 * has none.
 */
export function findErrorPage(
  { onError, stages }: Chain,
  x: Exchange,
  error: GatewayError,
  onFault: ReportFault | undefined,
  send: (page: ErrorPage | undefined) => void,
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
