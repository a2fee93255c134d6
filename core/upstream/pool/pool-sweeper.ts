/** Connections that may still be opened, over all pools that share it: each is an open file. */
export interface ConnectionBudget {
  left: number
}

/** Connections to one node, looked after by the clock. */
export interface SweptPool {
  /** Nothing is open, and nothing waits: the clock forgets it. */
  readonly idle: boolean
  /** Ends what has taken too long. */
  sweep(): void
  /** Closes the connection that has been unused for longest, if it is of that budget. */
  closeUnused(budget: ConnectionBudget): void
}

/** How often the connections are looked through for what has taken too long. */
const SWEEP_MS = 200

/** Those with connections, or calls that wait for one. */
const pools = new Set<SweptPool>()
let sweeper: NodeJS.Timeout | undefined

/** Has a pool swept until it is idle. */
export function watchPool(pool: SweptPool): void {
  pools.add(pool)
  sweeper ??= setInterval(sweepPools, SWEEP_MS).unref()
}

/** Makes room in a budget: one node's unused connection for another's that is needed. */
function freeUnused(budget: ConnectionBudget): void {
  for (const pool of pools) {
    if (budget.left > 0) return
    pool.closeUnused(budget)
  }
}

/** Takes a connection from a budget, unused ones of other nodes among them. False: there is none. */
export function takeConnection(budget: ConnectionBudget | undefined): boolean {
  if (budget === undefined) return true
  if (budget.left <= 0) freeUnused(budget)
  if (budget.left <= 0) return false
  budget.left--
  return true
}

/** Gives one back. */
export function returnConnection(budget: ConnectionBudget | undefined): void {
  if (budget !== undefined) budget.left++
}

function sweepPools(): void {
  for (const pool of pools) {
    pool.sweep()
    if (pool.idle) pools.delete(pool)
  }
  if (pools.size > 0) return
  clearInterval(sweeper)
  sweeper = undefined
}
