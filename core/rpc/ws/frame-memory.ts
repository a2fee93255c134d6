import { frameMemory } from '../../limits/memory-budget.ts'
import type { FrameMemory } from './frame-reader.ts'

/** The unfinished frame of a connection. */
interface FrameBuffer {
  /** Counted in {@link frameMemory}. */
  bytes: number
  readonly evict: () => void
}

/** The one without progress for longest first. */
const buffers = new Set<FrameBuffer>()

/**
 * Memory of a connection, within the budget of all connections. Beyond the budget the frames without progress for longest are evicted.
 *
 * @param evict closes the connection.
 */
export function createFrameMemory(evict: () => void): FrameMemory<Buffer> {
  const buffer: FrameBuffer = { bytes: 0, evict }
  return {
    // Memory takes room when it is written.
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
