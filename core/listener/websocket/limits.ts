/** High and low watermarks of the bytes buffered for a slow client, at which the sender pauses and resumes. */
export const CLIENT_HIGH_BYTES: number = 1024 * 1024
export const CLIENT_LOW_BYTES: number = 256 * 1024

/** Maximum uninterrupted pause of a client, in milliseconds. */
export const STALL_MAX_MS = 60_000

/** Byte counters of an exchange for WebSocket payload. */
export interface TrafficMeter {
  bytesIn: number
  bytesOut: number
}
