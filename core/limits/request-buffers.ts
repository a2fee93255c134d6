import { bodyMemory } from './memory-budget.ts'

/** A request or WebSocket with received bytes that are buffered: until they are complete, or for a slow backend or reader. */
export interface RequestBuffer {
  /** Bytes counted in `bodyMemory`. Changed by {@link countBuffered} only. */
  bufferedBytes: number
  /** Whether {@link cutBuffered} frees them. */
  readonly isCuttable: boolean
  /**
   * Ends the request, because the requests of this process exceed the budget in total.
   *
   * @param isLarge whether it alone uses a large share of the budget.
   */
  cutBuffered(isLarge: boolean): void
}

/** Share of the budget beyond which a single request is too large. */
const LARGE_SHARE = 1 / 4

const buffers = new Set<RequestBuffer>()

/** Requests and WebSockets ended since the start because too much was buffered. */
export const cuts = { count: 0 }

/**
 * Sets the number of bytes that a request buffers. Beyond the budget of the process the request that buffers most is ended, which
 * may be this one.
 */
export function countBuffered(buffer: RequestBuffer, bytes: number): void {
  if (bytes === buffer.bufferedBytes) return
  bodyMemory.usedBytes += bytes - buffer.bufferedBytes
  buffer.bufferedBytes = bytes
  if (bytes === 0) buffers.delete(buffer)
  else {
    buffers.add(buffer)
    if (bodyMemory.usedBytes > bodyMemory.maxBytes) cutLargest(0)
  }
}

/**
 * Whether a request may buffer more bytes. Beyond the budget of the process, requests that buffer more are ended to make room.
 */
export function mayBuffer(buffer: RequestBuffer, bytes: number): boolean {
  if (bodyMemory.usedBytes + bytes > bodyMemory.maxBytes) cutLargest(bytes, buffer)
  return bodyMemory.usedBytes + bytes <= bodyMemory.maxBytes
}

/**
 * Ends requests, the largest first, until `bytes` fit into the budget.
 *
 * @param claimant the request that needs them: requests that buffer less than it would are spared.
 */
function cutLargest(bytes: number, claimant?: RequestBuffer): void {
  const leastBytes = claimant === undefined ? 0 : claimant.bufferedBytes + bytes
  while (bodyMemory.usedBytes + bytes > bodyMemory.maxBytes) {
    let largest: RequestBuffer | undefined
    let largestBytes = leastBytes
    for (const buffer of buffers) {
      if (buffer.bufferedBytes <= largestBytes || !buffer.isCuttable) continue
      largest = buffer
      largestBytes = buffer.bufferedBytes
    }
    if (largest === undefined || largest === claimant) return
    // Before it ends: its memory is freed with it, which may take longer.
    countBuffered(largest, 0)
    cuts.count++
    largest.cutBuffered(largestBytes > bodyMemory.maxBytes * LARGE_SHARE)
  }
}
