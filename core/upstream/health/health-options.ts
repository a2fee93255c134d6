/** Active health checks of the nodes of a service. */
export interface HealthOptions {
  /**
   * - `http`: a request whose response status must be in `expect`.
   * - `tcp`: a connection.
   * - `grpc`: `grpc.health.v1.Health/Check`.
   * - `mx`: the call `Debug.Health`.
   *
   * @default http
   */
  readonly type: 'http' | 'tcp' | 'grpc' | 'mx'
  /** Path and query for `http`; service name for `grpc`. @default / for http, all services for grpc */
  readonly path: string
  /** Interval between checks of a healthy node in milliseconds, randomly reduced by up to a tenth. @default 10000 */
  readonly intervalMs: number
  /** Interval between checks of an unhealthy node in milliseconds, randomly reduced by up to a tenth. @default 2000 */
  readonly unhealthyIntervalMs: number
  /** @default 1000 */
  readonly timeoutMs: number
  /** Number of consecutive successes after which an unhealthy node becomes healthy. @default 2 */
  readonly passes: number
  /** Number of consecutive failures after which a node becomes unhealthy. @default 3 */
  readonly fails: number
  /** Expected status ranges. @default 200 to 399 */
  readonly expect: readonly (readonly [first: number, last: number])[]
  /** Body of a POST; if empty, a GET is sent. @default '' */
  readonly body: string
  /** Port for checks; 0 for the port of the node. @default 0 */
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
