import { bodyMemory } from './memory-budget.ts'

/** A request or WebSocket whose client has sent bytes that wait in this process: for their end, a backend, or a reader. */
export interface RequestBuffer {
  /** Bytes counted in `bodyMemory`. Changed by {@link countBuffered} only. */
  bufferedBytes: number
  /** Whether {@link cutBuffered} frees them. */
  readonly isCuttable: boolean
  /**
   * Ends it, because the requests of this process buffer too much together.
   *
   * @param isLarge it alone buffers a large share of what there may be.
   */
  cutBuffered(isLarge: boolean): void
}

/** Of the budget: a request that buffers more is too large in itself. */
const LARGE_SHARE = 1 / 4

const buffers = new Set<RequestBuffer>()

/** Requests and WebSockets ended since the start because too much was buffered. */
export const cuts = { count: 0 }

/**
 * Counts the bytes that a request buffers. Beyond the budget of the process the request that buffers most is ended, which may be
 * this one.
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
 * Ends requests, the largest first, until there is room.
 *
 * @param claimant who needs the room: requests that buffer less than it would are spared.
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
    // At once: what it holds is freed with it, and it may end later.
    countBuffered(largest, 0)
    cuts.count++
    largest.cutBuffered(largestBytes > bodyMemory.maxBytes * LARGE_SHARE)
  }
}
