import { unavailable } from '../../sdk/errors.ts'

/** Something that is done together with what else waits, and who waits for it. */
export interface Waiting<T, R> {
  readonly work: T
  /** Once; what comes after it does not matter. */
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

/** Work that is done in batches for each name, one after the other. */
export interface Batches<T, R> {
  /**
   * Does work with what else waits for this name, once all that was taken before is done.
   *
   * @param bytes what it holds while it waits.
   * @throws {GatewayError} 503 when too much waits, or nothing is taken any more.
   */
  readonly push: (name: string, work: T, bytes: number) => Promise<R>
  /** Takes nothing more; resolves when everything is done. */
  readonly close: () => Promise<void>
}

export interface BatchesOptions<T, R> {
  /** Does a batch, and settles all of it; what it throws is for those that are not settled. */
  readonly run: (name: string, batch: readonly Waiting<T, R>[]) => Promise<void>
  /** Most of a batch. */
  readonly maxBatch: number
  readonly maxWaitingBytes: number
}

/** What waiting work takes besides. */
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
      if (closed) throw unavailable('config', 'the configuration is being closed')
      const held = bytes + OVERHEAD_BYTES
      if (waitingBytes + held > maxWaitingBytes)
        throw unavailable('config', 'too many changes of the configuration are waiting')
      waitingBytes += held
      try {
        return await new Promise<R>((resolve, reject) => {
          const known = queues.get(name)
          const queue = known ?? []
          queue.push({ work, resolve, reject })
          if (known !== undefined) return
          queues.set(name, queue)
          const done = runAll(name, queue).finally(() => running.delete(done))
          running.add(done)
        })
      } finally {
        waitingBytes -= held
      }
    },

    async close() {
      closed = true
      await Promise.all(running)
    },
  }
}
