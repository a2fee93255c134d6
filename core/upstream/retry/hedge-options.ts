/** When a slow request is sent to a second node as well. */
export interface HedgeOptions {
  /** Milliseconds without a response, or the 95th percentile of the service. @default p95 */
  readonly after: number | 'p95'
  /** Maximum additional nodes per request; 0: none. @default 1 */
  readonly max: number
}

export const DEFAULT_HEDGE: HedgeOptions = { after: 'p95', max: 1 }
