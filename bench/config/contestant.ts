/** A configuration as the benchmark uses it. */
export interface Contestant {
  readonly name: string
  /** Resolves when it is acknowledged. */
  readonly set: (key: string, value: string) => Promise<unknown>
  /** The value. */
  readonly get: (key: string) => Promise<string>
  readonly close: () => Promise<void>
}
