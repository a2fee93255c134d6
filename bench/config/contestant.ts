/** A configuration store under test. */
export interface Contestant {
  readonly name: string
  /** Resolves when the write is acknowledged. */
  readonly set: (key: string, value: string) => Promise<unknown>
  readonly get: (key: string) => Promise<string>
  readonly close: () => Promise<void>
}
