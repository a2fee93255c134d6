/** What the server says of a message it hands to a consumer (NATS ADR-15). */
export interface Delivered {
  /** How often it was handed out, this time included. */
  readonly attempt: number
  readonly sequence: number
  /** When it was stored, milliseconds since 1970. */
  readonly storedMs: number
  /** How many the consumer has still to get. */
  readonly pending: number
}

const START = '$JS.ACK.'

/** Whether a message is one of a consumer. */
export function isAckSubject(subject: string): boolean {
  return subject.startsWith(START)
}

/** Reads the subject a message is acknowledged at; undefined: the message is none of a consumer. */
export function parseAckSubject(subject: string): Delivered | undefined {
  if (!isAckSubject(subject)) return undefined
  const tokens = subject.split('.')
  // `$JS.ACK.<stream>.<consumer>.<attempt>...`; with twelve there are a domain and an account in front of the stream.
  const at = tokens.length < 12 ? 4 : 6
  return {
    attempt: Number(tokens[at]),
    sequence: Number(tokens[at + 1]),
    storedMs: Math.floor(Number(tokens[at + 3]) / 1e6),
    pending: Number(tokens[at + 4]),
  }
}
