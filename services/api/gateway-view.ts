import type { Explained, ExplainRequest, PluginMessage, RoutesMessage } from './messages.ts'

/** What the service is told of a gateway that runs. */
export interface GatewayView {
  /** All routes, by the names of their services; what cannot be served is left out, which `left_out` says. */
  readonly listRoutes: () => Promise<RoutesMessage>
  /** In the order of the chain. */
  readonly listPlugins: () => readonly PluginMessage[]
  /**
   * Leads a request through the chain; nothing is sent.
   *
   * @throws {GatewayError} 504 when nothing was decided in time.
   */
  readonly explain: (request: ExplainRequest) => Promise<Explained>
}
