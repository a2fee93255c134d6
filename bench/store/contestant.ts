/** A store as the benchmark uses it. */
export interface Contestant {
  readonly name: string
  /** Resolves when it is acknowledged. */
  readonly write: (key: string, value: string) => Promise<unknown>
  /** The value. */
  readonly read: (key: string) => Promise<string>
  /** Values of all whose keys begin with `prefix`, in the order of their keys. */
  readonly readPrefix: (prefix: string) => Promise<readonly string[]>
  readonly close: () => Promise<void>
}
