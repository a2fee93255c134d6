/** Event of the `events` service (docs/events.md, Over HTTP). */
export interface EventMessage {
  readonly id: string
  readonly topic: string
  /** Position in the topic, from 1. */
  readonly sequence: number
  /** Unix time in milliseconds. */
  readonly timestamp_ms: number
  readonly metadata: Readonly<Record<string, string>>
  /** Base64. */
  readonly payload: string
}

/** Progress of a consumer group in a topic. */
export interface GroupMessage {
  readonly group: string
  /** All events up to this sequence are acknowledged. */
  readonly acked: number
  /** Number of delivered but unacknowledged events. */
  readonly pending: number
  /** Number of retained events after `acked`. */
  readonly lag: number
}

export interface TopicMessage {
  readonly topic: string
  /** Sequence of the oldest retained event; `last + 1` if the topic is empty. */
  readonly first: number
  readonly last: number
  readonly bytes: number
  readonly groups: readonly GroupMessage[]
}

/** Approximate number of events, because sequences may have gaps with NATS. */
export function countEvents({ first, last }: TopicMessage): number {
  return last - first + 1
}

/** Lag of the slowest group; undefined if there are no groups. */
export function findLag({ groups }: TopicMessage): number | undefined {
  return groups.length === 0 ? undefined : Math.max(...groups.map(({ lag }) => lag))
}

/** Size of the payload in bytes. */
export function sizeOfPayload({ payload }: EventMessage): number {
  const padding = payload.endsWith('==') ? 2 : payload.endsWith('=') ? 1 : 0
  return (payload.length / 4) * 3 - padding
}

export function formatMetadata(metadata: EventMessage['metadata']): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}
