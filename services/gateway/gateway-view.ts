import type {
  Explained,
  ExplainRequest,
  PluginMessage,
  RoutesPage,
  RoutesRequest,
} from './messages.ts'

/** What the service is told of a gateway that runs. */
export interface GatewayView {
  /**
   * A page of the routes, by the names of their services; what cannot be served is left out, which `left_out` says.
   *
   * @throws {GatewayError} 503 when the registry does not answer.
   */
  readonly listRoutes: (request: RoutesRequest) => Promise<RoutesPage>
  /** In the order of the chain. */
  readonly listPlugins: () => readonly PluginMessage[]
  /**
   * Leads a request through the chain; nothing is sent.
   *
   * @throws {GatewayError} 504 when nothing was decided in time.
   */
  readonly explain: (request: ExplainRequest) => Promise<Explained>
}
