/** When a slow request is also sent to a second node. */
export interface HedgeOptions {
  /** Milliseconds without a response, or the 95th percentile of the service. @default p95 */
  readonly after: number | 'p95'
  /** Maximum number of additional nodes per request; 0 disables hedging. @default 1 */
  readonly max: number
}

export const DEFAULT_HEDGE: HedgeOptions = { after: 'p95', max: 1 }
