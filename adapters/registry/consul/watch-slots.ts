/** One that asks again and again, and would rather wait at Consul for its answers. */
export interface SlotUser {
  /** Milliseconds since what it asks for was used. */
  readonly idleMs: () => number
}

export interface Slot {
  /** Whether the next question may wait; false: {@link Slot.turn} first. A place that is to be another's ends here. */
  readonly take: () => boolean
  /** Calls `onTurn`, once, when there is a place, or it is time to ask without, or the seat was left. */
  readonly turn: (onTurn: () => void) => void
  /** What it asks for has changed: without a place it is its turn soon. */
  readonly hurry: () => void
  readonly leave: () => void
}

/**
 * Who may hold a connection open for a question that waits. Those used last may; the others ask in turn.
 *
 * No question is cut off for another: Consul counts its connection until it would have been answered.
 */
export interface Slots {
  readonly join: (claim: SlotUser) => Slot
  /** Consul takes no more connections: two places less, down to eight; one comes back each minute. */
  readonly refuse: () => void
  /** Places there are. */
  readonly places: () => number
  /** Whether there are more questions than places: none is to wait for long. */
  readonly isShort: () => boolean
}

/** The state of a seat. */
interface Member extends Slot {
  readonly claim: SlotUser
  held: boolean
  /** Whether its place is another's once its question is answered. */
  losing: boolean
  hurried: boolean
  requestedMs: number
  wake: (() => void) | undefined
}

/** Most questions a second of those who have no place: those whose answer has changed, those in use, and the others. */
const PER_SECOND = { hurried: 500, used: 150, unused: 50 }
/** What was used more recently than that counts as in use; one place changes hands for a difference of as much. */
const USED_MS = 10_000
/** Shortest pause between two questions of one that is in use. */
const USED_POLL_MS = 500
const TICK_MS = 100
const REBALANCE_MS = 1000
const MIN_PLACES = 8
const RESTORE_MS = 60_000

/**
 * @param wanted questions that may wait at once.
 * @param minPollMs shortest pause between two questions of one that has no place and is not in use.
 * @param onShort told once each: when the first one gets no place, and when Consul refuses one.
 */
export function createSlots(
  wanted: number,
  minPollMs: number,
  onShort: (why: 'full' | 'refused') => void,
): Slots {
  let places = wanted
  let held = 0
  const told = new Set<'full' | 'refused'>()
  let loweredMs = 0
  let balancedMs = 0
  let budgets = { hurried: 0, used: 0, unused: 0 }
  let timer: NodeJS.Timeout | undefined
  const members = new Set<Member>()
  /** Those without a place who wait for their turn; who waits longest comes first. */
  const waiting = new Set<Member>()

  const pauses = { hurried: 0, used: Math.min(USED_POLL_MS, minPollMs), unused: minPollMs }

  const kindOf = ({ hurried, claim }: Member): keyof typeof PER_SECOND =>
    hurried ? 'hurried' : claim.idleMs() < USED_MS ? 'used' : 'unused'

  function tell(why: 'full' | 'refused'): void {
    if (!told.has(why)) onShort(why)
    told.add(why)
  }

  function give(member: Member): void {
    member.held = true
    member.hurried = false
    held++
  }

  function release(member: Member): void {
    member.held = false
    member.losing = false
    held--
  }

  function wake(member: Member): void {
    const { wake } = member
    waiting.delete(member)
    member.wake = undefined
    wake?.()
  }

  /** Gives free places, and those of services not used for long, to those used last. */
  function rebalance(): void {
    const claims = byIdle(waiting)
    while (held < places) {
      const claim = claims.shift()
      if (claim === undefined) return
      give(claim.member)
      wake(claim.member)
    }
    const staying = findStaying()
    // Who is about to lose a place leaves it to the first of them.
    for (const { idleMs } of claims.slice(Math.max(0, places - staying.length))) {
      const last = staying.shift()
      if (last === undefined || last.idleMs - idleMs < USED_MS) return
      last.member.losing = true
    }
  }

  /** Those whose place stays theirs; those used least recently come first. */
  function findStaying(): { readonly member: Member; readonly idleMs: number }[] {
    return byIdle([...members].filter(({ held, losing }) => held && !losing)).reverse()
  }

  function tick(): void {
    const nowMs = performance.now()
    if (places < wanted && nowMs - loweredMs >= RESTORE_MS) {
      places++
      loweredMs = nowMs
    }
    if (nowMs - balancedMs >= REBALANCE_MS) {
      balancedMs = nowMs
      rebalance()
    }
    const refill = (kind: keyof typeof PER_SECOND): number =>
      Math.min(budgets[kind], 1) + PER_SECOND[kind] * (TICK_MS / 1000)
    budgets = { hurried: refill('hurried'), used: refill('used'), unused: refill('unused') }
    for (const member of waiting) {
      const kind = kindOf(member)
      if (budgets[kind] < 1 || nowMs - member.requestedMs < pauses[kind]) continue
      budgets[kind]--
      member.hurried = false
      wake(member)
    }
    if (waiting.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** A class, in place of functions of each: there are thousands. */
  class Place implements Member {
    readonly claim: SlotUser
    held = false
    losing = false
    hurried = false
    requestedMs = 0
    wake: (() => void) | undefined = undefined

    constructor(claim: SlotUser) {
      this.claim = claim
    }

    take(): boolean {
      this.requestedMs = performance.now()
      if (this.losing) {
        release(this)
        return false
      }
      if (this.held) return true
      // Those who wait for one come first; who has left takes none.
      if (held < places && waiting.size === 0 && members.has(this)) {
        give(this)
        return true
      }
      // Where Consul has refused some, that is told.
      if (told.size === 0) tell('full')
      return false
    }

    turn(onTurn: () => void): void {
      if (!members.has(this)) {
        onTurn()
        return
      }
      waiting.add(this)
      timer ??= setInterval(tick, TICK_MS).unref()
      this.wake = onTurn
    }

    // One with a place is told by Consul.
    hurry(): void {
      this.hurried = !this.held
    }

    leave(): void {
      if (!members.delete(this)) return
      if (this.held) release(this)
      wake(this)
    }
  }

  return {
    places: () => places,
    isShort: () => members.size > places,

    join(claim) {
      const place = new Place(claim)
      members.add(place)
      return place
    },

    refuse() {
      const staying = findStaying()
      places = Math.min(places, Math.max(MIN_PLACES, staying.length - 2))
      tell('refused')
      loweredMs = performance.now()
      balancedMs = loweredMs
      for (const { member } of staying.slice(0, Math.max(0, staying.length - places)))
        member.losing = true
    },
  }
}

/** Those used last come first. */
function byIdle(members: Iterable<Member>): { readonly member: Member; readonly idleMs: number }[] {
  return [...members]
    .map((member) => ({ member, idleMs: member.claim.idleMs() }))
    .sort((a, b) => a.idleMs - b.idleMs)
}
