/** What one run of load saw. */
export interface LoadReport {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Replies other than 2xx and 3xx, and connections that failed. */
  readonly errors: number
}
