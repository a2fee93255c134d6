/** An event, as the service `events` tells it (docs/events.md, Over HTTP). */
export interface EventMessage {
  readonly id: string
  readonly topic: string
  /** Its place in the topic, from 1 on. */
  readonly sequence: number
  /** Milliseconds since 1970. */
  readonly timestamp_ms: number
  readonly metadata: Readonly<Record<string, string>>
  /** Base64. */
  readonly payload: string
}

/** How far a group of a topic is. */
export interface GroupMessage {
  readonly group: string
  /** Everything is done up to this sequence. */
  readonly acked: number
  /** Events that were delivered, and not acknowledged yet. */
  readonly pending: number
  /** Events that are kept, and stand behind `acked`. */
  readonly lag: number
}

/** A topic with its groups. */
export interface TopicMessage {
  readonly topic: string
  /** Sequence of the oldest event that is kept; `last + 1`: none is. */
  readonly first: number
  readonly last: number
  readonly bytes: number
  readonly groups: readonly GroupMessage[]
}

/** Events a topic has, about: with NATS some may have been left out. */
export function countEvents({ first, last }: TopicMessage): number {
  return last - first + 1
}

/** How far behind the slowest group is; undefined: the topic has none. */
export function findLag({ groups }: TopicMessage): number | undefined {
  return groups.length === 0 ? undefined : Math.max(...groups.map(({ lag }) => lag))
}

/** Bytes of a payload. */
export function sizeOfPayload({ payload }: EventMessage): number {
  const padding = payload.endsWith('==') ? 2 : payload.endsWith('=') ? 1 : 0
  return (payload.length / 4) * 3 - padding
}

/** Metadata on one line. */
export function formatMetadata(metadata: EventMessage['metadata']): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}
