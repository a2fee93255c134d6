import { unavailable } from '../../sdk/errors.ts'

/** Pending work and its caller. */
export interface Waiting<T, R> {
  readonly work: T
  /** Settles the work. Later calls are ignored. */
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

/** Processes work in sequential batches per name. */
export interface Batches<T, R> {
  /**
   * Adds work to the next batch of a name.
   *
   * @param bytes size while pending.
   * @throws {GatewayError} 503 if too much work is pending, or after close.
   */
  readonly push: (name: string, work: T, bytes: number) => Promise<R>
  /** Rejects new work. Resolves when all pending work has settled. */
  readonly close: () => Promise<void>
}

export interface BatchesOptions<T, R> {
  /**
   * Processes a batch and settles its work. If it fails, the error applies to all unsettled work.
   */
  readonly run: (name: string, batch: readonly Waiting<T, R>[]) => Promise<void>
  /** Maximum size of a batch. */
  readonly maxBatch: number
  readonly maxWaitingBytes: number
}

/** Overhead of pending work in bytes. */
const OVERHEAD_BYTES = 1000

export function createBatches<T, R>(options: BatchesOptions<T, R>): Batches<T, R> {
  const { run, maxBatch, maxWaitingBytes } = options
  const queues = new Map<string, Waiting<T, R>[]>()
  const running = new Set<Promise<void>>()
  let waitingBytes = 0
  let closed = false

  async function runAll(name: string, queue: Waiting<T, R>[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, maxBatch)
      try {
        await run(name, batch)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queues.delete(name)
  }

  return {
    async push(name, work, bytes) {
      if (closed) throw unavailable('config', 'the config service is stopping')
      const size = bytes + OVERHEAD_BYTES
      if (waitingBytes + size > maxWaitingBytes)
        throw unavailable('config', 'too many pending changes to the configuration')
      waitingBytes += size
      try {
        return await new Promise<R>((resolve, reject) => {
          const existing = queues.get(name)
          const queue = existing ?? []
          queue.push({ work, resolve, reject })
          if (existing !== undefined) return
          queues.set(name, queue)
          const finished = runAll(name, queue).finally(() => running.delete(finished))
          running.add(finished)
        })
      } finally {
        waitingBytes -= size
      }
    },

    async close() {
      closed = true
      await Promise.all(running)
    },
  }
}
