/** Bytes waiting for a slow client at which the sender is told to wait, and at which it may continue. */
export const CLIENT_HIGH_BYTES: number = 1024 * 1024
export const CLIENT_LOW_BYTES: number = 256 * 1024

/** How long a client may be paused without interruption, in milliseconds. */
export const STALL_MAX_MS = 60_000

/** Byte counters of an exchange for the payload of a WebSocket. */
export interface TrafficMeter {
  bytesIn: number
  bytesOut: number
}
