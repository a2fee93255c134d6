import type { Chain, Plugin, ReportFault, Stage, Step } from '../chain.ts'
import type { Account } from '../contracts/auth.ts'
import type { Endpoint } from '../contracts/registry.ts'
import type { Exchange } from '../exchange.ts'
import { DEFAULT_DOMAIN } from '../registry/service.ts'
import type { HOOKS } from './define.ts'

/** Plugins of routes, services, consumers and endpoints. */
export interface ScopedPlugins {
  /**
   * By `RouteRule.scope` of a route, or full name of a service. They run after routing and replace gateway plugins with
   * the same name.
   */
  readonly routes: ReadonlyMap<string, readonly Plugin[]>
  /**
   * By {@link toConsumerKey}. They run after authentication and replace all plugins with the same name. @default none
   */
  readonly consumers?: ReadonlyMap<string, readonly Plugin[]>
  /**
   * Returns the plugins declared by an endpoint, which are added to all other plugins. They run last for a request and
   * first for a response. Returns the same list while the endpoint is unchanged.
   *
   * @default none
   */
  readonly findPolicies?: (service: string, endpoint: Endpoint) => readonly Plugin[] | undefined
  /** Runs next to the handler for every request. @default none */
  readonly last?: Plugin | undefined
}

const NO_SCOPES: ScopedPlugins = { routes: new Map() }
const NO_CHAINS: Chain['scopes'] = new Map()

/** Key of an account in `ScopedPlugins.consumers`. */
export function toConsumerKey({ issuer, id }: Pick<Account, 'issuer' | 'id'>): string {
  return `${issuer}/${id}`
}

/** Flattens the hooks of `plugins` around the `route` and `handle` steps. */
export function compileChain(
  plugins: readonly Plugin[],
  route: Step,
  handle: Step,
  { routes, consumers = new Map(), findPolicies, last: innermost }: ScopedPlugins = NO_SCOPES,
): Chain {
  const scoped = [...routes.values()].flat()
  const consumerPlugins = [...consumers.values()].flat()
  const namesOf = (list: readonly Plugin[]) => new Set(list.map(({ name }) => name))
  // A plugin that a scope may replace runs once the scope is known: after routing, or after authentication.
  const afterRoute = namesOf([...scoped, ...consumerPlugins])
  const last = namesOf(consumerPlugins)
  const isLast = ({ name }: Plugin): boolean => last.has(name)
  const isEarly = (plugin: Plugin): boolean => !isLast(plugin)
  const first = [
    ...listHooks(
      plugins.filter(({ name }) => !afterRoute.has(name)),
      'onRequest',
    ),
    toHook('route', route),
    ...(routes.size > 0 ? [toHook('scope', enterRoute)] : []),
    ...(findPolicies === undefined ? [] : [toHook('scope', enterEndpoint)]),
  ]
  const inner = innermost === undefined ? [] : [innermost]
  const use = { active: 0 }
  const all = [...plugins, ...new Set([...scoped, ...consumerPlugins]), ...inner]

  const compile = (
    replaced: readonly Plugin[],
    policies: readonly Plugin[],
    scopes: Chain['scopes'],
    variant: string,
  ): Chain => {
    const applied = [...replaced, ...policies]
    const early = replaced.filter(isEarly)
    const late = replaced.filter(isLast)
    const steps = [
      ...first,
      ...listHooks(
        early.filter(({ name }) => afterRoute.has(name)),
        'onRequest',
      ),
      ...listHooks(early, 'onRoute'),
      ...(consumers.size > 0 ? [toHook('scope', enterConsumer)] : []),
      ...listHooks(late, 'onRequest'),
      ...listHooks(late, 'onRoute'),
      // Last before the service that declares them, so that they cannot change the input or results of other plugins.
      ...listHooks(policies, 'onRequest'),
      ...listHooks(policies, 'onRoute'),
      ...listHooks(applied, 'onForward'),
    ]
    const forward = [...listHooks(inner, 'onRoute'), toHook('handle', handle)]
    steps.push(...forward)
    const onResponse = listHooks([...policies, ...replaced], 'onResponse')
    // A stored response is better than an error page.
    const onError = [
      ...listHooks(applied.filter(hasResponseHook), 'onError'),
      ...listHooks(
        applied.filter((plugin) => !hasResponseHook(plugin)),
        'onError',
      ).reverse(),
    ]
    const onReplyBody = listHooks(applied, 'onReplyBody')
    const onReply = listHooks([...policies, ...replaced], 'onReply')
    const onDone = listHooks([...applied, ...inner], 'onDone')
    /** Chains by their plugin list. */
    const chains = new WeakMap<readonly Plugin[], Chain>()
    const continueWith = (
      scopePlugins: readonly Plugin[] | undefined,
      create: (scopePlugins: readonly Plugin[]) => Chain,
    ): Chain | undefined => {
      if (scopePlugins === undefined) return undefined
      const chain = chains.get(scopePlugins) ?? create(scopePlugins)
      chains.set(scopePlugins, chain)
      return chain
    }
    return {
      plugins: applied,
      steps: steps.map(({ run }) => run),
      onError: onError.map(({ run }) => run),
      onResponse: onResponse.map(({ run }) => run),
      onReplyBody: onReplyBody.map(({ run }) => run),
      onReply: onReply.map(({ run }) => run),
      onDone: onDone.map(({ run }) => run),
      changesReplies: onResponse.length + onReplyBody.length > 0,
      forward: forward.map(({ run }) => run),
      variant,
      stages: {
        steps: steps.map(({ stage }) => stage),
        onError: onError.map(({ stage }) => stage),
        onResponse: onResponse.map(({ stage }) => stage),
        onReplyBody: onReplyBody.map(({ stage }) => stage),
        onReply: onReply.map(({ stage }) => stage),
        onDone: onDone.map(({ stage }) => stage),
      },
      scopes,
      ofEndpoint: (service, endpoint) =>
        continueWith(findPolicies?.(service, endpoint), (scopePlugins) =>
          compile(replaced, scopePlugins, NO_CHAINS, variant),
        ),
      ofConsumer: (key) =>
        continueWith(consumers.get(key), (scopePlugins) =>
          compile(replace(replaced, scopePlugins), policies, NO_CHAINS, `${variant}\n${key}`),
        ),
      use,
      close: (onFault) => closePlugins(all, onFault),
    }
  }
  const chains = [...routes].map(([name, overrides]): [string, Chain] => {
    return [name, compile(replace(plugins, overrides), [], NO_CHAINS, name)]
  })
  return compile(plugins, [], new Map(chains), '')
}

/** Returns `plugins` without the names in `overrides`, followed by `overrides`. */
function replace(plugins: readonly Plugin[], overrides: readonly Plugin[]): readonly Plugin[] {
  return [
    ...plugins.filter(({ name }) => !overrides.some((other) => other.name === name)),
    ...overrides,
  ]
}

function hasResponseHook({ onResponse }: Plugin): boolean {
  return onResponse !== undefined
}

interface Hook<T> {
  readonly stage: Stage
  readonly run: T
}

function listHooks<K extends Exclude<(typeof HOOKS)[number], 'close'>>(
  plugins: readonly Plugin[],
  hook: K,
): Hook<NonNullable<Plugin[K]>>[] {
  return plugins.flatMap((plugin) => {
    const run = plugin[hook]?.bind(plugin) as NonNullable<Plugin[K]> | undefined
    return run === undefined ? [] : [{ stage: { plugin: plugin.name, hook }, run }]
  })
}

function toHook(hook: 'route' | 'scope' | 'handle', run: Step): Hook<Step> {
  return { stage: { plugin: undefined, hook }, run }
}

/**
 * Continues with the chain of the route or service. Services in other domains may have the name of a configured one.
 */
function enterRoute(x: Exchange): void {
  const { route, upstream } = x
  if (route === undefined) return
  const isConfigured = upstream === undefined || upstream.domain === DEFAULT_DOMAIN
  const scope = route.rule?.scope ?? (isConfigured ? route.service : '')
  x.chain = x.chain.scopes.get(scope) ?? x.chain
}

/** Continues with the chain of the endpoint. */
function enterEndpoint(x: Exchange): void {
  const { route, upstream } = x
  if (upstream?.hasPolicies !== true || route === undefined) return
  const endpoint = upstream.endpoints.get(route.endpoint)
  x.chain = (endpoint && x.chain.ofEndpoint(route.service, endpoint)) ?? x.chain
}

/** Continues with the chain of the caller. */
function enterConsumer(x: Exchange): void {
  const { account } = x
  if (account !== undefined) x.chain = x.chain.ofConsumer(toConsumerKey(account)) ?? x.chain
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
