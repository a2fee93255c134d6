/** High and low watermark of bytes buffered for a slow client: the sender pauses and continues. */
export const CLIENT_HIGH_BYTES: number = 1024 * 1024
export const CLIENT_LOW_BYTES: number = 256 * 1024

/** How long a client may be paused without interruption, in milliseconds. */
export const STALL_MAX_MS = 60_000

/** Byte counters of an exchange for the payload of a WebSocket. */
export interface TrafficMeter {
  bytesIn: number
  bytesOut: number
}
