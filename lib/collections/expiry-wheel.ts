/** Timing wheel: finds expired items in constant time. */
export interface ExpiryWheel<T> {
  /** Sets the expiry of an item; Infinity disables it. */
  readonly set: (item: T, ms: number) => void
  readonly delete: (item: T) => void
  /** Removes and returns expired items, within a second after their expiry. */
  readonly takeDue: (nowMs: number) => T[]
}

const SECOND_MS = 1000

/** Uses one bucket per second, since a TTL spans few seconds. */
export function createExpiryWheel<T>(): ExpiryWheel<T> {
  const buckets = new Map<number, Set<T>>()
  const secondOf = new Map<T, number>()
  /** Earliest bucket. */
  let next = Number.POSITIVE_INFINITY

  function remove(item: T): void {
    const second = secondOf.get(item)
    if (second === undefined) return
    secondOf.delete(item)
    const bucket = buckets.get(second)!
    bucket.delete(item)
    if (bucket.size === 0) buckets.delete(second)
  }

  return {
    delete: remove,

    set(item, ms) {
      remove(item)
      if (ms === Number.POSITIVE_INFINITY) return
      const second = Math.ceil(ms / SECOND_MS)
      const bucket = buckets.get(second) ?? new Set()
      buckets.set(second, bucket.add(item))
      secondOf.set(item, second)
      next = Math.min(next, second)
    },

    takeDue(nowMs) {
      const now = nowMs / SECOND_MS
      if (now < next) return []
      const due: T[] = []
      next = Number.POSITIVE_INFINITY
      for (const [second, bucket] of buckets) {
        if (second > now) {
          next = Math.min(next, second)
          continue
        }
        for (const item of bucket) {
          due.push(item)
          secondOf.delete(item)
        }
        buckets.delete(second)
      }
      return due
    },
  }
}
