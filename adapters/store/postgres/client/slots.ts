/** A number of places, and who waits for one. */
export interface Slots {
  /**
   * Resolves with a place, in the order of asking.
   *
   * @throws {Error} when too many wait already, or none became free in time.
   */
  readonly take: () => Promise<void>
  readonly release: () => void
}

export function createSlots(places: number, maxWaiting: number, timeoutMs: number): Slots {
  /** In the order of their coming. */
  const waiting = new Set<() => void>()
  let free = places

  return {
    take() {
      if (free > 0) {
        free--
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        if (waiting.size >= maxWaiting) {
          reject(new Error(`${maxWaiting} others wait for a connection`))
          return
        }
        const go = (): void => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(() => {
          waiting.delete(go)
          reject(new Error(`no connection became free within ${timeoutMs} ms`))
        }, timeoutMs)
        waiting.add(go)
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
