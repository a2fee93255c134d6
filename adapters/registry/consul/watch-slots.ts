/** A repeated query that prefers to block on the Consul server. */
export interface SlotUser {
  /** Milliseconds since the service was last used. */
  readonly idleMs: () => number
}

export interface Slot {
  /**
   * Returns whether the next query may block. If false, call {@link Slot.wait} first. Releases a
   * revoked slot.
   */
  readonly acquire: () => boolean
  /** Calls `onReady` once when a slot is free, polling is due, or the query has been removed. */
  readonly wait: (onReady: () => void) => void
  /** Called when a change is expected: without a slot, the next poll is moved up. */
  readonly expedite: () => void
  readonly leave: () => void
}

/**
 * Limits the number of connections for blocking queries. The most recently used services get slots;
 * all other services poll.
 *
 * A query in flight is never aborted in favor of another: Consul counts its connection until the
 * query would have ended.
 */
export interface Slots {
  readonly join: (user: SlotUser) => Slot
  /**
   * Called when Consul has rejected a connection. Reduces the capacity by two, but not below eight.
   * The capacity grows by one per minute.
   */
  readonly reduce: () => void
  readonly capacity: () => number
  /** Returns whether there are more queries than slots, so that none should block for long. */
  readonly isShort: () => boolean
}

interface Member extends Slot {
  readonly user: SlotUser
  hasSlot: boolean
  /** Whether the slot is revoked once its query ends. */
  isRevoked: boolean
  expedited: boolean
  requestedMs: number
  wake: (() => void) | undefined
}

/**
 * Polls per second without a slot, for services with an expected change, services in use, and
 * unused services.
 */
const PER_SECOND = { expedited: 500, used: 150, unused: 50 }
/**
 * Services used within this time count as in use. A slot is reassigned only if the idle times
 * differ by at least this time.
 */
const USED_MS = 10_000
/** Minimum poll interval of a service in use. */
const USED_POLL_MS = 500
const TICK_MS = 100
const REBALANCE_MS = 1000
const MIN_CAPACITY = 8
const RESTORE_MS = 60_000

/**
 * @param limit maximum number of blocking queries.
 * @param minPollMs minimum poll interval of an unused service without a slot.
 * @param onShort called once per reason: when the slots are full, and when Consul rejects a
 * connection.
 */
export function createSlots(
  limit: number,
  minPollMs: number,
  onShort: (reason: 'full' | 'rejected') => void,
): Slots {
  let capacity = limit
  let usedSlots = 0
  const reported = new Set<'full' | 'rejected'>()
  let loweredMs = 0
  let balancedMs = 0
  let budgets = { expedited: 0, used: 0, unused: 0 }
  let timer: NodeJS.Timeout | undefined
  const members = new Set<Member>()
  /** Members without a slot that are waiting to poll, longest wait first. */
  const waiting = new Set<Member>()

  const pauses = { expedited: 0, used: Math.min(USED_POLL_MS, minPollMs), unused: minPollMs }

  const kindOf = ({ expedited, user }: Member): keyof typeof PER_SECOND =>
    expedited ? 'expedited' : user.idleMs() < USED_MS ? 'used' : 'unused'

  function report(reason: 'full' | 'rejected'): void {
    if (!reported.has(reason)) onShort(reason)
    reported.add(reason)
  }

  function grant(member: Member): void {
    member.hasSlot = true
    member.expedited = false
    usedSlots++
  }

  function release(member: Member): void {
    member.hasSlot = false
    member.isRevoked = false
    usedSlots--
  }

  function wake(member: Member): void {
    const { wake } = member
    waiting.delete(member)
    member.wake = undefined
    wake?.()
  }

  /**
   * Assigns free slots, and the slots of long-unused services, to the most recently used services.
   */
  function rebalance(): void {
    const candidates = byIdle(waiting)
    while (usedSlots < capacity) {
      const user = candidates.shift()
      if (user === undefined) return
      grant(user.member)
      wake(user.member)
    }
    const retained = findRetained()
    // A revoked slot goes to the first candidate.
    for (const { idleMs } of candidates.slice(Math.max(0, capacity - retained.length))) {
      const last = retained.shift()
      if (last === undefined || last.idleMs - idleMs < USED_MS) return
      last.member.isRevoked = true
    }
  }

  /** Members whose slot is not revoked, least recently used first. */
  function findRetained(): { readonly member: Member; readonly idleMs: number }[] {
    return byIdle([...members].filter(({ hasSlot, isRevoked }) => hasSlot && !isRevoked)).reverse()
  }

  function tick(): void {
    const nowMs = performance.now()
    if (capacity < limit && nowMs - loweredMs >= RESTORE_MS) {
      capacity++
      loweredMs = nowMs
    }
    if (nowMs - balancedMs >= REBALANCE_MS) {
      balancedMs = nowMs
      rebalance()
    }
    const refill = (kind: keyof typeof PER_SECOND): number =>
      Math.min(budgets[kind], 1) + PER_SECOND[kind] * (TICK_MS / 1000)
    budgets = { expedited: refill('expedited'), used: refill('used'), unused: refill('unused') }
    for (const member of waiting) {
      const kind = kindOf(member)
      if (budgets[kind] < 1 || nowMs - member.requestedMs < pauses[kind]) continue
      budgets[kind]--
      member.expedited = false
      wake(member)
    }
    if (waiting.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** A class rather than closures, because there are thousands of instances. */
  class MemberSlot implements Member {
    readonly user: SlotUser
    hasSlot = false
    isRevoked = false
    expedited = false
    requestedMs = 0
    wake: (() => void) | undefined = undefined

    constructor(user: SlotUser) {
      this.user = user
    }

    acquire(): boolean {
      this.requestedMs = performance.now()
      if (this.isRevoked) {
        release(this)
        return false
      }
      if (this.hasSlot) return true
      // Waiting members take precedence. A removed member gets no slot.
      if (usedSlots < capacity && waiting.size === 0 && members.has(this)) {
        grant(this)
        return true
      }
      // If Consul rejected a connection, that has already been reported.
      if (reported.size === 0) report('full')
      return false
    }

    wait(onReady: () => void): void {
      if (!members.has(this)) {
        onReady()
        return
      }
      waiting.add(this)
      timer ??= setInterval(tick, TICK_MS).unref()
      this.wake = onReady
    }

    // Consul notifies a member with a slot of changes.
    expedite(): void {
      this.expedited = !this.hasSlot
    }

    leave(): void {
      if (!members.delete(this)) return
      if (this.hasSlot) release(this)
      wake(this)
    }
  }

  return {
    capacity: () => capacity,
    isShort: () => members.size > capacity,

    join(user) {
      const slot = new MemberSlot(user)
      members.add(slot)
      return slot
    },

    reduce() {
      const retained = findRetained()
      capacity = Math.min(capacity, Math.max(MIN_CAPACITY, retained.length - 2))
      report('rejected')
      loweredMs = performance.now()
      balancedMs = loweredMs
      for (const { member } of retained.slice(0, Math.max(0, retained.length - capacity)))
        member.isRevoked = true
    },
  }
}

/** Sorts members by use, most recently used first. */
function byIdle(members: Iterable<Member>): { readonly member: Member; readonly idleMs: number }[] {
  return [...members]
    .map((member) => ({ member, idleMs: member.user.idleMs() }))
    .sort((a, b) => a.idleMs - b.idleMs)
}
