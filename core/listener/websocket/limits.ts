/** Bytes waiting for a slow client at which what feeds it is told to wait, and at which it may go on. */
export const CLIENT_HIGH_BYTES: number = 1024 * 1024
export const CLIENT_LOW_BYTES: number = 256 * 1024

/** How long a client may be held back on end, in milliseconds. */
export const STALL_MAX_MS = 60_000

/** Where the payload bytes of a WebSocket are counted. */
export interface TrafficMeter {
  bytesIn: number
  bytesOut: number
}
