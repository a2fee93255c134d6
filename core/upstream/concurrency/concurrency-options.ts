/** Limit of the requests in progress. */
export interface ConcurrencyOptions {
  /** Maximum requests in progress, from 1; `auto`: found by their durations ({@link AutoLimit}). @default auto */
  readonly limit: number | 'auto'
  /** Maximum waiting requests. @default 50 */
  readonly queue: number
  /** Longest wait, milliseconds; 0: no request waits. @default 100 */
  readonly queueTimeoutMs: number
  /** The limit applies to a service or route, to each of its nodes, or to each account. @default service */
  readonly per: 'service' | 'node' | 'account'
}

/** Requests with a higher priority wait first and are shed last. */
export const PRIORITIES = ['critical', 'default', 'batch'] as const
export type Priority = (typeof PRIORITIES)[number]

export const DEFAULT_CONCURRENCY: ConcurrencyOptions = {
  limit: 'auto',
  queue: 50,
  queueTimeoutMs: 100,
  per: 'service',
}
