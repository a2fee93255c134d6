export interface StoreGoals {
  readonly writesPerSecond: number
  readonly readsPerSecond: number
  /** Maximum median time for reading a page of 1000 records. */
  readonly pageMs: number
}

/** Names of stores in results. */
export type ContestantName =
  | 'mx, sync os'
  | 'mx, sync always'
  | 'redis, appendfsync everysec'
  | 'redis, appendfsync always'

/** A store under test. */
export interface Contestant {
  /** Goals; undefined for stores used only for comparison. */
  readonly goals?: StoreGoals
  /** Resolves when the write is acknowledged. */
  readonly write: (key: string, value: string) => Promise<unknown>
  readonly read: (key: string) => Promise<string>
  /** Returns the values of all keys with a prefix, in key order. */
  readonly readPrefix: (prefix: string) => Promise<readonly string[]>
  readonly close: () => Promise<void>
}
