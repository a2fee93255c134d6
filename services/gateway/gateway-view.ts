import type { ConfigVersions } from './config-versions.ts'
import type { ConfiguredRoutesPage, ConfiguredRoutesRequest } from './configured-routes.ts'
import type {
  Explained,
  ExplainRequest,
  PluginMessage,
  RoutesPage,
  RoutesRequest,
} from './messages.ts'
import type { NodeControl } from './node-control.ts'

/** View of the running gateway for the service. */
export interface GatewayView {
  /**
   * Returns a page of routes sorted by service name. Invalid routes are listed in `left_out`.
   *
   * @throws {GatewayError} 503 if the registry is unavailable.
   */
  readonly listRoutes: (request: RoutesRequest) => Promise<RoutesPage>
  /** Returns a page of the configured routes. */
  readonly listConfiguredRoutes: (request: ConfiguredRoutesRequest) => ConfiguredRoutesPage
  /** Returns the plugins in the order of the chain. */
  readonly listPlugins: () => readonly PluginMessage[]
  /**
   * Runs a request through the chain without sending it.
   *
   * @throws {GatewayError} 504 on timeout.
   */
  readonly explain: (request: ExplainRequest) => Promise<Explained>
  /** Nodes of the services. */
  readonly nodes: NodeControl
  /** Returns the versions of the configuration; undefined while the server is starting. */
  readonly versions: () => ConfigVersions | undefined
}
