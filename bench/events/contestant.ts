/** Events as the benchmark uses them: one topic, which nobody else uses. */
export interface Contestant {
  readonly name: string
  /** Resolves when it is acknowledged. */
  readonly publish: (payload: Uint8Array) => Promise<unknown>
  /** Has so many events from the first on, and tells the bytes of their payloads. */
  readonly replay: (count: number) => Promise<number>
  /** The same, of a group that acknowledges each. */
  readonly consume: (count: number) => Promise<number>
  readonly close: () => Promise<void>
}
