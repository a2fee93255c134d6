/** Period of a quota, in UTC. */
export type QuotaPeriod = 'day' | 'month'

/** Identifies the count of a quota in its current period. */
export interface QuotaCounter {
  /** Name of the quota. */
  readonly quota: string
  readonly period: QuotaPeriod
  readonly namespace: string
  /** Id of the account. */
  readonly account: string
  /** Id of the API key; empty to count all requests of the account. */
  readonly apiKey: string
}

/** Requests that a gateway wants to admit without further communication. */
export interface QuotaReservation {
  readonly counter: QuotaCounter
  /** Maximum number of requests in the period. */
  readonly limit: number
  /** Number of requests to reserve, at least 1. */
  readonly requests: number
}

/** Reserved part of a quota. The requests are counted; requests that are not made can be released. */
export interface QuotaLease {
  /** Number of reserved requests; 0 if the quota is exhausted. */
  readonly granted: number
  /** Number of counted requests of the period, including all reservations. */
  readonly used: number
  /** Identifies the period and the resets in it. A lease can only be released with its own epoch. */
  readonly epoch: string
  /** Milliseconds until the end of the period. */
  readonly leftMs: number
}

/** Part of a lease that was not used. */
export interface QuotaRelease {
  readonly counter: QuotaCounter
  readonly epoch: string
  readonly requests: number
}

/** Counts of requests by account or API key, shared by all gateways and stored by the `auth` service. */
export interface RequestQuotas {
  /**
   * Counts requests in advance.
   *
   * @throws {GatewayError} 503 by rejecting. The requests may have been counted.
   */
  readonly reserve: (reservation: QuotaReservation) => Promise<QuotaLease>
  /** Subtracts requests that were not made. Must be called at most once for each of them, even if it fails. */
  readonly release: (release: QuotaRelease) => Promise<void>
}
