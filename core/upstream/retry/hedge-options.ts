/** When a request that waits for its response is sent to a second node, too. */
export interface HedgeOptions {
  /** Milliseconds without a response, or the 95th percentile of the service. @default p95 */
  readonly after: number | 'p95'
  /** Maximum further nodes per request; 0: none. @default 1 */
  readonly max: number
}

export const DEFAULT_HEDGE: HedgeOptions = { after: 'p95', max: 1 }
