/** Limit of concurrent requests. */
export interface ConcurrencyOptions {
  /**
   * Maximum number of requests in progress, at least 1; `auto` adjusts it by their durations ({@link AutoLimit}).
   * @default auto
   */
  readonly limit: number | 'auto'
  /** Maximum number of queued requests. @default 50 */
  readonly queue: number
  /** Maximum time in the queue in milliseconds; 0 disables the queue. @default 100 */
  readonly queueTimeoutMs: number
  /** Scope of the limit: a service or route, each of its nodes, or each account. @default service */
  readonly per: 'service' | 'node' | 'account'
}

/** Requests with a higher priority leave the queue first and are shed last. */
export const PRIORITIES = ['critical', 'default', 'batch'] as const
export type Priority = (typeof PRIORITIES)[number]

export const DEFAULT_CONCURRENCY: ConcurrencyOptions = {
  limit: 'auto',
  queue: 50,
  queueTimeoutMs: 100,
  per: 'service',
}
