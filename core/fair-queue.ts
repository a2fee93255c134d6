/** Places that keys, such as namespaces or addresses, take turns in. */
export interface FairQueue {
  /**
   * Waits for a place.
   *
   * @returns releases the place; a second call has no effect.
   * @throws {Error} of `toError` when too many wait or the wait is too long; the reason of the signal.
   */
  readonly acquire: (key: string, options?: AcquireOptions) => Promise<() => void>
}

export interface AcquireOptions {
  /** Goes before waiters without priority, except that every fourth place is theirs. @default false */
  readonly hasPriority?: boolean
  /** Longest wait, milliseconds. @default no limit */
  readonly maxWaitMs?: number
  /** Ends the wait. @default nothing does */
  readonly signal?: AbortSignal
}

export interface FairQueueOptions {
  /** Places in use at a time. */
  readonly places: number
  /**
   * Whether a key takes a further place only while more are free than it already holds. Others find a free place then, however
   * long the work of one key takes (dynamic thresholds: Choudhury and Hahne, 1998). @default false
   */
  readonly leavesRoom?: boolean
  /** Most waiters of a key. @default no limit */
  readonly maxWaitingOfKey?: number
  /** Most waiters, of those with and of those without priority. @default no limit */
  readonly maxWaiting?: number
  /** Error for a waiter that is rejected. */
  readonly toError: (reason: 'full' | 'late') => Error
}

interface Waiter {
  readonly start: () => void
}

/** Waiters of one priority, by key; the key whose turn it is comes first. */
interface Lane {
  readonly waiters: Map<string, Set<Waiter>>
  size: number
}

/** Places in a row for waiters with priority while others wait: a flood of them starves nobody. */
const MAX_PRIORITY_STREAK = 3

/** Grants places round robin among the keys, in the order of arrival within a key. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { places, leavesRoom = false, toError } = options
  const { maxWaitingOfKey = Number.POSITIVE_INFINITY, maxWaiting = Number.POSITIVE_INFINITY } =
    options
  const priority: Lane = { waiters: new Map(), size: 0 }
  const ordinary: Lane = { waiters: new Map(), size: 0 }
  /** Places in use, by key; none is 0. */
  const inUse = new Map<string, number>()
  let free = places
  let streak = 0

  function mayTake(key: string): boolean {
    const own = inUse.get(key) ?? 0
    return own === 0 || !leavesRoom || free > own
  }

  function remove(lane: Lane, key: string, waiter: Waiter): void {
    const ofKey = lane.waiters.get(key)
    if (ofKey?.delete(waiter) !== true) return
    lane.size--
    if (ofKey.size === 0) lane.waiters.delete(key)
  }

  /** False: nobody of the lane may take a place. */
  function grantOne(lane: Lane): boolean {
    for (const [key, ofKey] of lane.waiters) {
      if (!mayTake(key)) continue
      const [waiter] = ofKey
      remove(lane, key, waiter!)
      // Behind the others.
      if (lane.waiters.delete(key)) lane.waiters.set(key, ofKey)
      free--
      inUse.set(key, (inUse.get(key) ?? 0) + 1)
      waiter!.start()
      return true
    }
    return false
  }

  function grant(): void {
    while (free > 0) {
      const isTurnOfOthers = streak >= MAX_PRIORITY_STREAK && grantOne(ordinary)
      if (isTurnOfOthers) streak = 0
      else if (grantOne(priority)) streak = ordinary.size === 0 ? 0 : streak + 1
      else if (!grantOne(ordinary)) return
      else streak = 0
    }
  }

  function release(key: string): void {
    free++
    const left = inUse.get(key)! - 1
    if (left === 0) inUse.delete(key)
    else inUse.set(key, left)
    grant()
  }

  return {
    acquire(key, { hasPriority = false, maxWaitMs, signal } = {}) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason)
        const lane = hasPriority ? priority : ordinary
        const ofKey = lane.waiters.get(key) ?? new Set()
        let timer: NodeJS.Timeout | undefined
        const settle = (): void => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', onAbort)
        }
        const giveUp = (reason: unknown): void => {
          settle()
          remove(lane, key, waiter)
          reject(reason)
        }
        const onAbort = (): void => giveUp(signal!.reason)
        let isStarted = false
        let isReleased = false
        const waiter: Waiter = {
          start() {
            isStarted = true
            settle()
            resolve(() => {
              if (isReleased) return
              isReleased = true
              release(key)
            })
          },
        }
        lane.waiters.set(key, ofKey.add(waiter))
        lane.size++
        grant()
        if (isStarted) return
        if (ofKey.size > maxWaitingOfKey || lane.size > maxWaiting) return giveUp(toError('full'))
        if (maxWaitMs !== undefined)
          timer = setTimeout(() => giveUp(toError('late')), Math.max(0, maxWaitMs))
        signal?.addEventListener('abort', onAbort)
      })
    },
  }
}
