import { frameMemory } from '../../limits/memory-budget.ts'
import type { FrameMemory } from './frame-reader.ts'

/** The unfinished frame of a connection. */
interface FrameBuffer {
  /** Bytes counted in {@link frameMemory}. */
  bytes: number
  readonly evict: () => void
}

/** Ordered by progress, least recent first. */
const buffers = new Set<FrameBuffer>()

/**
 * Frame memory of a connection, within a budget shared by all connections. If the budget is exceeded, the frames with
 * the longest time without progress are evicted.
 *
 * @param evict closes the connection.
 */
export function createFrameMemory(evict: () => void): FrameMemory<Buffer> {
  const buffer: FrameBuffer = { bytes: 0, evict }
  return {
    // The system allocates lazily: memory is only used once it is written.
    allocate: Buffer.allocUnsafeSlow,
    onBuffered: (bytes) => {
      count(buffer, bytes)
      for (const stale of buffers) {
        if (frameMemory.usedBytes <= frameMemory.maxBytes) return
        count(stale, 0)
        stale.evict()
      }
    },
  }
}

function count(buffer: FrameBuffer, bytes: number): void {
  frameMemory.usedBytes += bytes - buffer.bytes
  buffer.bytes = bytes
  buffers.delete(buffer)
  if (bytes > 0) buffers.add(buffer)
}
