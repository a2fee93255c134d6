/** Delivery metadata of a message (NATS ADR-15). */
export interface Delivered {
  /** Number of deliveries, including this one. */
  readonly attempt: number
  readonly sequence: number
  /** Time when the message was stored, Unix time in milliseconds. */
  readonly storedMs: number
  /** Number of messages left for the consumer. */
  readonly pending: number
}

const START = '$JS.ACK.'

/** Returns whether a subject is the reply subject of a consumer. */
export function isAckSubject(subject: string): boolean {
  return subject.startsWith(START)
}

/** Parses the reply subject of a delivered message. Returns undefined for other messages. */
export function parseAckSubject(subject: string): Delivered | undefined {
  if (!isAckSubject(subject)) return undefined
  const tokens = subject.split('.')
  // `$JS.ACK.<stream>.<consumer>.<attempt>...`; with twelve tokens, domain and account precede the
  // stream.
  const at = tokens.length < 12 ? 4 : 6
  return {
    attempt: Number(tokens[at]),
    sequence: Number(tokens[at + 1]),
    storedMs: Math.floor(Number(tokens[at + 3]) / 1e6),
    pending: Number(tokens[at + 4]),
  }
}
