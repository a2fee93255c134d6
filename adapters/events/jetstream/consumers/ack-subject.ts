/** Delivery metadata of a message (NATS ADR-15). */
export interface Delivered {
  /** Number of deliveries, including this one. */
  readonly attempt: number
  readonly sequence: number
  /** Unix time in milliseconds of its storage. */
  readonly storedMs: number
  /** Number of messages left for the consumer. */
  readonly pending: number
}

const START = '$JS.ACK.'

/** Whether a subject is a reply subject of a consumer. */
export function isAckSubject(subject: string): boolean {
  return subject.startsWith(START)
}

/** Parses the reply subject of a delivered message; undefined for any other message. */
export function parseAckSubject(subject: string): Delivered | undefined {
  if (!isAckSubject(subject)) return undefined
  const tokens = subject.split('.')
  // `$JS.ACK.<stream>.<consumer>.<attempt>...`; with twelve tokens, domain and account precede the stream.
  const at = tokens.length < 12 ? 4 : 6
  return {
    attempt: Number(tokens[at]),
    sequence: Number(tokens[at + 1]),
    storedMs: Math.floor(Number(tokens[at + 3]) / 1e6),
    pending: Number(tokens[at + 4]),
  }
}
