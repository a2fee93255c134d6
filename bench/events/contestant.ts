/** Minimum rates of an event store. */
export interface EventsGoals {
  readonly publishedPerSecond: number
  readonly replayedPerSecond: number
}

/** An event store under test, with a dedicated topic. */
export interface Contestant {
  readonly name: string
  /** Minimum rates; undefined for contestants used only for comparison. */
  readonly goals?: EventsGoals
  /** Resolves when the event is acknowledged. */
  readonly publish: (payload: Uint8Array) => Promise<unknown>
  /** Receives all events from the first. Returns the size of their payloads. */
  readonly replay: (count: number) => Promise<number>
  /** Like `replay`, in a group that acknowledges each event. */
  readonly consume: (count: number) => Promise<number>
  readonly close: () => Promise<void>
}
