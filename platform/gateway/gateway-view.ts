import type { Plugin } from '../../core/chain.ts'
import type { Authorizer } from '../../core/contracts/auth.ts'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import { RecentRequests } from '../../core/metrics/recent-requests.ts'
import { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import { HOOKS } from '../../core/plugin/define.ts'
import { toRegistryFault } from '../../core/registry/errors.ts'
import { Default } from '../../core/schema.ts'
import { createDisposer } from '../../lib/async/disposer.ts'
import { unavailable } from '../../sdk/errors.ts'
import type { ConfigVersions } from '../../services/gateway/config-versions.ts'
import type { GatewayView } from '../../services/gateway/gateway-view.ts'
import type { Explained, PluginMessage } from '../../services/gateway/messages.ts'
import { displayOptions } from '../config/references/option-values.ts'
import { redactOptions } from '../config/references/redact-options.ts'
import { findPluginDefinition } from '../plugins/load.ts'
import type { PlannedPlugin } from '../plugins/plan.ts'
import { createLog } from '../process/log.ts'
import { formatAddress } from '../settings/parse/address.ts'
import { nameResolver } from './find-resolver.ts'
import { listConfiguredRoutes } from './routes/list-configured-routes.ts'
import type { DomainRegistries } from './routing/domains.ts'
import { explain } from './routing/explain.ts'
import type { Explanation } from './routing/explanation.ts'
import { toRoutesPage } from './routing/routes-page.ts'
import type { GatewayServer } from './types.ts'

export interface GatewayViewOptions {
  readonly registry: Registry
  readonly domains: DomainRegistries
  readonly authorizer: Authorizer
}

/** Data source of the `api` service, whose gateway starts later. */
export interface GatewaySource {
  /** Metrics that the gateway updates. */
  readonly metrics: RequestMetrics
  readonly inFlight: () => number
  readonly gateway: () => GatewayView | undefined
  /** Sets the gateway once it is running. */
  readonly use: (api: GatewayServer, versions?: () => ConfigVersions | undefined) => void
}

/** Maximum number of characters shown from a response body that is not an error. */
const MAX_DETAIL = 1000

/**
 * Creates the gateway view of the `api` service: settings, plugins and rules at the time of the
 * call.
 */
export function createGatewaySource(options: GatewayViewOptions): GatewaySource {
  let running: GatewayServer | undefined
  let view: GatewayView | undefined
  return {
    metrics: new RequestMetrics(new RecentRequests()),
    inFlight: () => running?.inFlight ?? 0,
    gateway: () => view,
    use(api, versions = () => undefined) {
      running = api
      view = { ...createView(api, options), versions }
    },
  }
}

function createView(
  api: GatewayServer,
  { registry, domains, authorizer }: GatewayViewOptions,
): Omit<GatewayView, 'versions'> {
  const log = createLog('silent')
  return {
    async listRoutes(request) {
      const { configuration, registry } = api.active
      const { settings } = configuration
      return {
        url: `${settings.enableTls ? 'https' : 'http'}://${formatAddress({ host: settings.address.host, port: api.port })}`,
        handler: settings.handler,
        resolver: settings.resolver || nameResolver(settings.handler),
        namespace: settings.namespace,
        ...toRoutesPage(await listServices(registry), settings, request),
      }
    },

    listConfiguredRoutes(request) {
      const { configuration } = api.active
      const { hidden } = configuration.config.references
      return hidden.hideDeep(listConfiguredRoutes(configuration, request))
    },

    nodes: api.nodes,

    listPlugins() {
      const { plan, chain, configuration } = api.active
      return plan.map((planned, i) =>
        toPluginMessage(planned, chain.plugins[i]!, configuration.config.folder),
      )
    },

    async explain(request) {
      const closing = createDisposer()
      try {
        const { configuration } = api.active
        const parts = { configuration, registry, domains, authorizer, log }
        const { hidden } = configuration.config.references
        return hidden.hideDeep(toMessage(await explain(request, parts, closing)))
      } finally {
        await closing.close()
      }
    },
  }
}

async function listServices(registry: Registry): Promise<readonly Service[]> {
  try {
    return await registry.listServices()
  } catch (error) {
    throw unavailable('api', toRegistryFault(error), { cause: error })
  }
}

function toPluginMessage(
  { specifier, options, references, source }: PlannedPlugin,
  plugin: Plugin,
  folder: string | undefined,
): PluginMessage {
  const definition = findPluginDefinition(specifier, folder)
  const withDefaults =
    definition === undefined ? options : Default(definition.options, structuredClone(options))
  return {
    name: plugin.name,
    description: definition?.description ?? '',
    source,
    specifier,
    hooks: HOOKS.filter((hook) => plugin[hook] !== undefined),
    options: redactOptions(
      displayOptions(withDefaults as object, references ?? new Map()),
      definition?.options,
    ),
  }
}

function toMessage(explanation: Explanation): Explained {
  const {
    stages,
    route,
    routeName,
    handler = '',
    rulings,
    nodes,
    sentTo,
    answer,
    ...rest
  } = explanation
  return {
    ...rest,
    handler,
    stages: stages.map(({ plugin = '', hook, scope = '', source = '' }) => {
      return { plugin, hook, scope, source }
    }),
    ...(route !== undefined && {
      route: {
        ...(routeName !== undefined && { name: routeName }),
        service: route.service,
        endpoint: route.endpoint,
        handler: route.handler ?? '',
        variables: (route.variables ?? []).map(([name, value]) => ({ name, value })),
      },
    }),
    rulings: rulings.map(({ rule, ...ruling }) => ({ ...ruling, rule: rule?.id ?? '' })),
    nodes: nodes ?? [],
    sent_to: sentTo ?? '',
    ...(answer !== undefined && {
      answer: {
        status: answer.status,
        id: answer.error?.id ?? '',
        detail: answer.error?.message ?? answer.body.slice(0, MAX_DETAIL),
      },
    }),
  }
}
