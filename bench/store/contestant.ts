/** What a store has to reach. */
export interface StoreGoals {
  readonly writesPerSecond: number
  readonly readsPerSecond: number
  /** Of a page of 1000 records, at most, the median. */
  readonly pageMs: number
}

/** What the stores are called in results. */
export type ContestantName =
  | 'mx, sync os'
  | 'mx, sync always'
  | 'redis, appendfsync everysec'
  | 'redis, appendfsync always'

/** A store as the benchmark uses it. */
export interface Contestant {
  /** Undefined: it is there to be compared with. */
  readonly goals?: StoreGoals
  /** Resolves when it is acknowledged. */
  readonly write: (key: string, value: string) => Promise<unknown>
  /** The value. */
  readonly read: (key: string) => Promise<string>
  /** Values of all whose keys begin with `prefix`, in the order of their keys. */
  readonly readPrefix: (prefix: string) => Promise<readonly string[]>
  readonly close: () => Promise<void>
}
