/** Failures since the last success. */
export interface FailureRun {
  consecutive: number
  /** Failures since the last success or different failure. */
  consecutiveGatewayErrors: number
}

interface RouteFailures extends FailureRun {
  /** Whether other nodes serve the route, so that the node is at fault and not the application. */
  isConfirmed: boolean
}

/** Maximum number of routes that are counted separately. All other routes share a counter. */
const ROUTES_MAX = 32
const OTHER_ROUTES = ''

/** Failure state of a node. */
export class NodeFailures implements FailureRun {
  consecutive = 0
  consecutiveGatewayErrors = 0
  /** Failing routes, until their next success. */
  readonly routes: Map<string, RouteFailures> = new Map()
  /** Number of ejections since the last success. Each doubles the next ejection time. */
  ejections = 0
  /** End of the ejection on the upstream's clock; 0 if not ejected. */
  ejectedUntilMs = 0
  /** Whether the node is ejected and a trial request is in flight. */
  onTrial = false
  /**
   * Whether the node is ejected because it accepts no connections, so that its requests are known to be unprocessed.
   */
  isUnreachable = false

  add(
    route: string,
    {
      isGatewayError,
      isConfirmed,
    }: { readonly isGatewayError: boolean; readonly isConfirmed: boolean },
  ): void {
    const key = this.routes.has(route) || this.routes.size < ROUTES_MAX ? route : OTHER_ROUTES
    const failing = this.routes.get(key) ?? {
      consecutive: 0,
      consecutiveGatewayErrors: 0,
      isConfirmed: false,
    }
    this.routes.set(key, failing)
    failing.isConfirmed ||= isConfirmed
    for (const run of [this, failing]) {
      run.consecutive++
      run.consecutiveGatewayErrors = isGatewayError ? run.consecutiveGatewayErrors + 1 : 0
    }
  }
}

/** Shared by all nodes without failures. */
export const HEALTHY: NodeFailures = Object.freeze(new NodeFailures())
