/** Active health checks of the nodes of a service. */
export interface HealthOptions {
  /**
   * - `http`: a request, whose status must be in `expect`.
   * - `tcp`: a connection.
   * - `grpc`: `grpc.health.v1.Health/Check`.
   * - `mx`: the call `Debug.Health`.
   *
   * @default http
   */
  readonly type: 'http' | 'tcp' | 'grpc' | 'mx'
  /** Path and query of `http`; service name of `grpc`. @default / for http, all services for grpc */
  readonly path: string
  /** Milliseconds between two checks of a healthy node, reduced by up to a tenth at random. @default 10000 */
  readonly intervalMs: number
  /** Milliseconds between two checks of an unhealthy node, reduced by up to a tenth at random. @default 2000 */
  readonly unhealthyIntervalMs: number
  /** @default 1000 */
  readonly timeoutMs: number
  /** Consecutive successes after which an unhealthy node is healthy. @default 2 */
  readonly passes: number
  /** Consecutive failures after which a node is unhealthy. @default 3 */
  readonly fails: number
  /** Ranges of statuses. @default 200 to 399 */
  readonly expect: readonly (readonly [first: number, last: number])[]
  /** Body of a POST instead of a GET; empty: GET. @default '' */
  readonly body: string
  /** Port of the checks; 0: the port of the node. @default 0 */
  readonly port: number
}

export const DEFAULT_HEALTH: HealthOptions = {
  type: 'http',
  path: '',
  intervalMs: 10_000,
  unhealthyIntervalMs: 2000,
  timeoutMs: 1000,
  passes: 2,
  fails: 3,
  expect: [[200, 399]],
  body: '',
  port: 0,
}
