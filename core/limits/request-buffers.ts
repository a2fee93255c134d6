import { bodyMemory } from './memory-budget.ts'

/** A request or WebSocket with buffered bytes: incomplete, or waiting for a slow backend or reader. */
export interface RequestBuffer {
  /** Bytes counted in `bodyMemory`. Only changed by {@link countBuffered}. */
  bufferedBytes: number
  /** Whether {@link dropBufferedBody} frees the bytes. */
  readonly isDroppable: boolean
  /**
   * Ends the request because the requests of this process exceed the total budget.
   *
   * @param isLarge whether it alone uses a large share of the budget.
   */
  dropBufferedBody(isLarge: boolean): void
}

/** Share of the budget above which a single request is considered large. */
const LARGE_SHARE = 1 / 4

const buffers = new Set<RequestBuffer>()

/** Number of requests and WebSockets ended since startup because too much was buffered. */
export const cuts = { count: 0 }

/**
 * Sets the number of bytes buffered by a request. If the process exceeds its budget, the request with the most buffered
 * bytes ends, which may be this one.
 */
export function countBuffered(buffer: RequestBuffer, bytes: number): void {
  if (bytes === buffer.bufferedBytes) return
  bodyMemory.usedBytes += bytes - buffer.bufferedBytes
  buffer.bufferedBytes = bytes
  if (bytes === 0) buffers.delete(buffer)
  else {
    buffers.add(buffer)
    if (bodyMemory.usedBytes > bodyMemory.maxBytes) dropLargest(0)
  }
}

/**
 * Whether a request may buffer more bytes. If the process exceeds its budget, requests with more buffered bytes end.
 */
export function mayBuffer(buffer: RequestBuffer, bytes: number): boolean {
  if (bodyMemory.usedBytes + bytes > bodyMemory.maxBytes) dropLargest(bytes, buffer)
  return bodyMemory.usedBytes + bytes <= bodyMemory.maxBytes
}

/**
 * Ends requests, the largest first, until `bytes` fit into the budget.
 *
 * @param claimant request that needs the bytes. Requests that buffer less than its new total are spared.
 */
function dropLargest(bytes: number, claimant?: RequestBuffer): void {
  const minBytes = claimant === undefined ? 0 : claimant.bufferedBytes + bytes
  while (bodyMemory.usedBytes + bytes > bodyMemory.maxBytes) {
    let largest: RequestBuffer | undefined
    let largestBytes = minBytes
    for (const buffer of buffers) {
      if (buffer.bufferedBytes <= largestBytes || !buffer.isDroppable) continue
      largest = buffer
      largestBytes = buffer.bufferedBytes
    }
    if (largest === undefined || largest === claimant) return
    // Counted before it ends, because freeing its memory may take longer.
    countBuffered(largest, 0)
    cuts.count++
    largest.dropBufferedBody(largestBytes > bodyMemory.maxBytes * LARGE_SHARE)
  }
}
