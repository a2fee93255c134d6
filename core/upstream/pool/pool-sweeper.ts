import { refreshClock } from '../../../lib/time/coarse-clock.ts'

/** Budget of open connections shared by pools, since each connection is an open file. */
export interface ConnectionBudget {
  remaining: number
}

/** The connections to a node, swept periodically. */
export interface SweptPool {
  /** Whether nothing is open or waiting, so that sweeping stops. */
  readonly idle: boolean
  /** Enforces timeouts. */
  sweep(): void
  /** Closes the connection with the longest idle time, if it belongs to the budget. */
  closeUnused(budget: ConnectionBudget): void
}

/** Sweep interval in milliseconds, the maximum delay of a timeout. */
const SWEEP_MS = 100

/** Pools with connections or waiting calls. */
const pools = new Set<SweptPool>()
let sweeper: NodeJS.Timeout | undefined

/** Sweeps a pool until it is idle. */
export function watchPool(pool: SweptPool): void {
  pools.add(pool)
  sweeper ??= setInterval(sweepPools, SWEEP_MS).unref()
}

/** Frees an unused connection of another node. */
function freeUnused(budget: ConnectionBudget): void {
  for (const pool of pools) {
    if (budget.remaining > 0) return
    pool.closeUnused(budget)
  }
}

/**
 * Takes a connection from a budget, closing an unused connection of another node if necessary.
 *
 * @returns false if the budget is exhausted and no connection is unused.
 */
export function takeConnection(budget: ConnectionBudget | undefined): boolean {
  if (budget === undefined) return true
  if (budget.remaining <= 0) freeUnused(budget)
  if (budget.remaining <= 0) return false
  budget.remaining--
  return true
}

export function returnConnection(budget: ConnectionBudget | undefined): void {
  if (budget !== undefined) budget.remaining++
}

function sweepPools(): void {
  refreshClock()
  for (const pool of pools) {
    pool.sweep()
    if (pool.idle) pools.delete(pool)
  }
  if (pools.size > 0) return
  clearInterval(sweeper)
  sweeper = undefined
}
