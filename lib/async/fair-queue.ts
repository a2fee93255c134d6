/** Semaphore that is fair across keys, such as namespaces or addresses. */
export interface FairQueue {
  /**
   * Waits for a slot.
   *
   * @returns function that releases the slot; further calls have no effect.
   * @throws {Error} from `toError` if too many are waiting or the wait is too long; the reason of the signal if it
   * aborts.
   */
  readonly acquire: (key: string, options?: AcquireOptions) => Promise<() => void>
}

export interface AcquireOptions {
  /** Precedes waiters without priority, which receive every fourth slot. @default false */
  readonly hasPriority?: boolean
  /** Maximum wait in milliseconds. @default no limit */
  readonly maxWaitMs?: number
  /** Cancels the wait. */
  readonly signal?: AbortSignal
}

export interface FairQueueOptions {
  /** Number of slots. */
  readonly slots: number
  /**
   * Whether a key acquires another slot only while more slots are free than the key already uses. Other keys then find
   * a free slot even if the work of a key takes long (dynamic thresholds: Choudhury and Hahne, 1998). @default false
   */
  readonly leavesSlots?: boolean
  /** Maximum number of waiters per key. @default no limit */
  readonly maxWaitingPerKey?: number
  /** Maximum number of waiters, separately with and without priority. @default no limit */
  readonly maxWaiting?: number
  /** Creates the error for a rejected waiter. */
  readonly toError: (reason: 'full' | 'late') => Error
}

interface Waiter {
  readonly start: () => void
}

/** A key that is waiting for a slot or using one. */
interface Member {
  inUse: number
  waiting: number
  /** Number of its last grant; 0 if none yet. */
  lastGrant: number
}

/** Waiters of one priority, by key, in order of arrival. */
interface Lane {
  readonly waiters: Map<string, Set<Waiter>>
  size: number
}

/** Maximum number of consecutive grants with priority while others wait, so that a flood of them starves no one. */
const MAX_PRIORITY_STREAK = 3

/** Grants slots round-robin across keys, and to the waiters of a key in order of arrival. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { slots, leavesSlots = false, toError } = options
  const { maxWaitingPerKey = Number.POSITIVE_INFINITY, maxWaiting = Number.POSITIVE_INFINITY } =
    options
  const priority: Lane = { waiters: new Map(), size: 0 }
  const ordinary: Lane = { waiters: new Map(), size: 0 }
  const members = new Map<string, Member>()
  let free = slots
  let grants = 0
  let streak = 0

  function open(key: string): Member {
    const member = members.get(key) ?? { inUse: 0, waiting: 0, lastGrant: 0 }
    members.set(key, member)
    return member
  }

  function forget(key: string, { inUse, waiting }: Member): void {
    if (inUse === 0 && waiting === 0) members.delete(key)
  }

  function add(lane: Lane, key: string, waiter: Waiter): Set<Waiter> {
    const waitersOfKey = lane.waiters.get(key) ?? new Set()
    lane.waiters.set(key, waitersOfKey.add(waiter))
    lane.size++
    open(key).waiting++
    return waitersOfKey
  }

  function remove(lane: Lane, key: string, waiter: Waiter): void {
    const waitersOfKey = lane.waiters.get(key)
    if (waitersOfKey?.delete(waiter) !== true) return
    lane.size--
    if (waitersOfKey.size === 0) lane.waiters.delete(key)
    const member = open(key)
    member.waiting--
    forget(key, member)
  }

  /** Finds the key to serve next: among the keys that may use a slot, the one with the oldest last grant. */
  function findKey(lane: Lane): string | undefined {
    let next: string | undefined
    let oldest = Number.POSITIVE_INFINITY
    for (const key of lane.waiters.keys()) {
      const { inUse, lastGrant } = members.get(key)!
      if (lastGrant >= oldest || (leavesSlots && inUse > 0 && inUse >= free)) continue
      next = key
      oldest = lastGrant
    }
    return next
  }

  /** Grants one slot. Returns false if no waiter in the lane may use one. */
  function grantOne(lane: Lane): boolean {
    const key = findKey(lane)
    if (key === undefined) return false
    const member = open(key)
    const [waiter] = lane.waiters.get(key)!
    member.inUse++
    member.lastGrant = ++grants
    free--
    remove(lane, key, waiter!)
    waiter!.start()
    return true
  }

  function grant(): void {
    while (free > 0) {
      if (streak >= MAX_PRIORITY_STREAK && grantOne(ordinary)) streak = 0
      else if (grantOne(priority)) streak = ordinary.size === 0 ? 0 : streak + 1
      else if (grantOne(ordinary)) streak = 0
      else return
    }
  }

  function release(key: string): void {
    const member = open(key)
    member.inUse--
    free++
    forget(key, member)
    grant()
  }

  return {
    acquire(key, { hasPriority = false, maxWaitMs, signal } = {}) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason)
        const lane = hasPriority ? priority : ordinary
        let timer: NodeJS.Timeout | undefined
        let isStarted = false
        let isReleased = false
        const settle = (): void => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', onAbort)
        }
        const cancel = (reason: unknown): void => {
          settle()
          remove(lane, key, waiter)
          reject(reason)
        }
        const onAbort = (): void => cancel(signal!.reason)
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
        const waitersOfKey = add(lane, key, waiter)
        grant()
        if (isStarted) return
        if (waitersOfKey.size > maxWaitingPerKey || lane.size > maxWaiting)
          return cancel(toError('full'))
        if (maxWaitMs !== undefined)
          timer = setTimeout(() => cancel(toError('late')), Math.max(0, maxWaitMs))
        signal?.addEventListener('abort', onAbort)
      })
    },
  }
}
