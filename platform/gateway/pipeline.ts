import type { Chain, ReportFault } from '../../core/chain.ts'
import type { Authorizer } from '../../core/contracts/auth.ts'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import type { ResponseCaches } from '../../core/contracts/response-caches.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import type { Tracer } from '../../core/contracts/tracer.ts'
import { createEgressPolicy, type EgressPolicy } from '../../core/egress/egress-policy.ts'
import { dashboardCookie } from '../../core/http/dashboard-cookie.ts'
import type { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { ConcurrencyLimits } from '../../core/upstream/concurrency/concurrency-limits.ts'
import type { FindUpstreamOptions } from '../../core/upstream/upstream-options.ts'
import type { Disposer } from '../../lib/async/disposer.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { isServerText } from '../../sdk/auth/credentials.ts'
import { findInternals } from '../../sdk/internal/internals.ts'
import { listNames, listServices } from '../config/configured-services.ts'
import type { Configuration } from '../config/types.ts'
import { buildPlugins } from '../plugins/build.ts'
import type { PlannedPlugin } from '../plugins/plan.ts'
import type { Log } from '../process/log.ts'
import { openPlatformClient } from '../server/platform-account.ts'
import { createConfiguredRegistry } from '../server/registries.ts'
import type { Settings } from '../settings/settings.ts'
import { createForwarding, type EventSinks } from './handlers.ts'
import { compileRoutes } from './routes/compile-routes.ts'
import { createConcurrencyPlugin } from './routes/concurrency-plugin.ts'
import { type ConfiguredRouteTable, createConfiguredRoutes } from './routes/configured-routes.ts'
import { createErrorPages } from './routes/error-pages.ts'
import { buildScopes } from './routes/scopes.ts'
import type { DomainRegistries } from './routing/domains.ts'
import { createSlashCheck } from './routing/encoded-slashes.ts'
import { createGatewayRouting } from './routing/gateway-routing.ts'
import type { Routing } from './routing/routing.ts'
import { createUnreachableServiceCheck } from './warn-unreachable-services.ts'

export interface PipelineOptions {
  readonly configuration: Configuration
  /** Returns the current configuration, which changes with reloads. @default `configuration` */
  readonly current?: () => Configuration
  /** Registry for services outside the configuration. @default chosen by the settings */
  readonly registry?: Registry | undefined
  readonly domains?: DomainRegistries | undefined
  readonly events: EventSinks
  /** Undefined to allow every request. */
  readonly authorizer: Authorizer | undefined
  readonly tracer?: Tracer | undefined
  /** Outgoing address policy. @default chosen by the configuration */
  readonly egress?: EgressPolicy | undefined
  readonly upstream: FindUpstreamOptions
  /** Counts shed requests. @default none */
  readonly metrics?: RequestMetrics | undefined
  /** Response caches of the process. @default separate ones per plugin */
  readonly caches?: ResponseCaches | undefined
  /** Configured services. @default as written, without DNS */
  readonly services?: readonly Service[] | undefined
  readonly log: Log
}

/** All parts of a gateway except its listeners: routing, plugins and handlers. */
export interface Pipeline {
  readonly routing: Routing
  readonly registry: Registry
  /** Returns why the registry is not ready, or undefined once it has responded. */
  readonly problem: () => Maybe<string | undefined>
  /** Concurrency limits of services and routes. */
  readonly limits: ConcurrencyLimits
  /** Replaces the configured services. */
  readonly replace: (services: readonly Service[]) => void
  /** Replaces the configured routes and the chain built for them. */
  readonly replaceRoutes: (routes: ConfiguredRouteTable) => void
  /**
   * Builds the chain of a configuration.
   *
   * @throws {SettingsError} if a plugin cannot be built.
   */
  readonly buildChain: (next: Configuration, plan: readonly PlannedPlugin[]) => Promise<Chain>
}

/** @throws {Error} if the registry cannot be opened. Opened resources are added to `closing`. */
export async function openPipeline(options: PipelineOptions, closing: Disposer): Promise<Pipeline> {
  const { configuration, domains, events, authorizer, tracer, upstream, log } = options
  const { current = () => configuration } = options
  const { settings } = configuration
  const source: Registry | Settings['registry'] = options.registry ?? settings.registry
  const tokens = typeof source === 'string' ? await openTokens(settings, closing) : undefined
  const { registry, loaded, problem, replace } = createConfiguredRegistry(
    source,
    options.services ?? listServices(configuration),
    tokens,
  )
  closing.add(() => registry.close?.())
  await loaded
  const routes = createConfiguredRoutes(compileRoutes(configuration))
  const routing = createGatewayRouting({
    routes,
    settings,
    registry,
    domains,
    upstream,
    onServices: createUnreachableServiceCheck({
      settings: () => current().settings,
      configured: () => listNames(current()),
      onWarning: (message) => log.warn(message),
    }),
    log,
  })
  closing.add(routing.close)
  const limits = new ConcurrencyLimits(options.metrics?.services)

  return {
    routing,
    registry,
    limits,
    problem,
    replace,
    replaceRoutes: routes.replace,

    async buildChain(next, plan) {
      const egress = options.egress ?? createEgressPolicy(next.settings)
      const env = {
        ...{ log, nowMs: Date.now, configDir: next.config.folder },
        ...{ authorizer, tracer, egress, caches: options.caches },
      }
      const { find, findConfigured } = routing
      // Appended, so that the positions of plugins match the plan.
      const all = [...(await buildPlugins(plan, env)), dashboardCookie]
      let scopes: Awaited<ReturnType<typeof buildScopes>>
      try {
        const { errors = [] } = next.config
        const { namespace } = next.settings
        if (errors.length > 0)
          all.push(createErrorPages('gateway', errors, { namespace, find: findConfigured, log }))
        scopes = await buildScopes(next, env, findConfigured)
      } catch (error) {
        for (const plugin of all.toReversed()) await plugin.close?.()
        throw error
      }
      const { isCallAllowed } = egress
      const check = createSlashCheck(next)
      const context = { events, find, upstream, check, isCallAllowed }
      const forwarding = createForwarding(next.settings, context, routing.route)
      const last = createConcurrencyPlugin(next, limits)
      const chain = compileChain(all, forwarding.route, forwarding.handle, { ...scopes, last })
      const close = async (onFault: ReportFault): Promise<void> => {
        await chain.close(onFault)
        await forwarding.close()
      }
      return { ...chain, close }
    },
  }
}

/** Returns access tokens for a server's registry, or undefined for other registries. */
async function openTokens(settings: Settings, closing: Disposer): Promise<TokenSource | undefined> {
  const { registry, auth } = settings
  if (!isServerText(registry)) return undefined
  const client = await openPlatformClient(
    auth === 'none' ? { registry } : { proxy: auth },
    settings,
  )
  closing.add(() => client.close())
  return findInternals(client)?.tokens
}
