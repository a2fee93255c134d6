/** What events have to reach. */
export interface EventsGoals {
  readonly publishedPerSecond: number
  readonly replayedPerSecond: number
}

/** Events as the benchmark uses them: one topic, which nobody else uses. */
export interface Contestant {
  readonly name: string
  /** Undefined: it is there to be compared with. */
  readonly goals?: EventsGoals
  /** Resolves when it is acknowledged. */
  readonly publish: (payload: Uint8Array) => Promise<unknown>
  /** Has so many events from the first on, and tells the bytes of their payloads. */
  readonly replay: (count: number) => Promise<number>
  /** The same, of a group that acknowledges each. */
  readonly consume: (count: number) => Promise<number>
  readonly close: () => Promise<void>
}
