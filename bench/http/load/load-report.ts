/** Result of a load run. */
export interface LoadReport {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Number of responses other than 2xx and 3xx, and of failed connections. */
  readonly errors: number
}
