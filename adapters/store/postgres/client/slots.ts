/** A semaphore with a bounded FIFO queue. */
export interface Slots {
  /**
   * Resolves when a slot is free, in FIFO order.
   *
   * @throws {Error} if the queue is full or on timeout.
   */
  readonly acquire: () => Promise<void>
  readonly release: () => void
}

export function createSlots(size: number, maxWaiting: number, timeoutMs: number): Slots {
  /** In FIFO order. */
  const waiting = new Set<() => void>()
  let free = size

  return {
    acquire() {
      if (free > 0) {
        free--
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        if (waiting.size >= maxWaiting) {
          reject(new Error(`${maxWaiting} calls are already waiting for a connection`))
          return
        }
        const proceed = (): void => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(() => {
          waiting.delete(proceed)
          reject(new Error(`no connection became free within ${timeoutMs} ms`))
        }, timeoutMs)
        waiting.add(proceed)
      })
    },

    release() {
      const [next] = waiting
      if (next === undefined) {
        free++
        return
      }
      waiting.delete(next)
      next()
    },
  }
}
