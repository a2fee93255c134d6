import { LRUCache } from 'lru-cache'
import type { QuotaCounter, RequestQuotas } from '../../../core/contracts/request-quotas.ts'
import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { PluginLog } from '../../../core/plugin/define.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'

export interface QuotaLeasesOptions {
  readonly quotas: RequestQuotas
  /** Maximum number of reserved requests per counter. */
  readonly batch: number
  readonly log: PluginLog
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
}

/** Decision about a request. */
export interface QuotaDecision {
  readonly isAllowed: boolean
  /** Number of requests left in the period, including those reserved by this gateway. */
  readonly remaining: number
  /** Milliseconds until the end of the period. */
  readonly resetMs: number
  /** Lease of the request; undefined if it was not taken from a lease. */
  readonly lease: QuotaLeaseState | undefined
}

/** Reserves requests in advance, and admits requests from these reservations without communication. */
export interface QuotaLeases {
  /**
   * Takes one request of a counter, synchronously while requests are reserved.
   *
   * @throws {GatewayError} 503 if no requests are reserved and the counts are unavailable, synchronously or by rejecting.
   */
  readonly take: (key: string, toCounter: () => QuotaCounter, limit: number) => Maybe<QuotaDecision>
  /** Gives an allowed request back, because it is not made. */
  readonly refund: (decision: QuotaDecision) => void
  /** Releases the reservations of counters without recent requests. */
  readonly sweep: () => Promise<void>
  /** Releases all reservations. */
  readonly close: () => Promise<void>
}

/** State of a lease, which only {@link createQuotaLeases} changes. */
export interface QuotaLeaseState {
  readonly counter: QuotaCounter
  limit: number
  /** Reserved requests that were not taken. */
  left: number
  /** Counted requests of the period at the last reservation. */
  used: number
  epoch: string
  /** End of the period. All times are Unix times in milliseconds. */
  endMs: number
  /** Time until which the quota is exhausted without another reservation. */
  deniedUntilMs: number
  /** Time until which the counts are unavailable without another attempt. */
  failedUntilMs: number
  takenMs: number
  /** Number of requests that wait for a reservation. */
  waiting: number
  pending: Promise<void> | undefined
}

/** Maximum number of leases; above it, the least recently used lease is released. */
const LEASES_MAX = 100_000
/** An exhausted quota is checked again after this time, because another gateway may have released requests. */
const DENIED_MS = 1000
const FAILED_MS = 1000
/** Leases without requests are released after this time, so that other gateways can use them. */
const IDLE_MS = 10_000
/** Interval between searches for idle leases. */
const SWEEP_MS = 5000
/** Maximum number of concurrent releases. */
const RELEASES_MAX = 64

export function createQuotaLeases(options: QuotaLeasesOptions): QuotaLeases {
  const { quotas, batch, log, nowMs } = options
  const leases = new LRUCache<string, QuotaLeaseState>({
    max: LEASES_MAX,
    dispose: (lease, _, reason) => void (reason === 'evict' && release(lease)),
  })
  const timer = setInterval(() => void sweep(), SWEEP_MS).unref()

  /** Returns undefined if another reservation is needed. */
  function takeReserved(lease: QuotaLeaseState, now: number): QuotaDecision | undefined {
    if (lease.endMs <= now) return undefined
    if (lease.left > 0) {
      lease.left--
      return toDecision(lease, true, now)
    }
    return lease.deniedUntilMs > now ? toDecision(lease, false, now) : undefined
  }

  async function takeLater(lease: QuotaLeaseState): Promise<QuotaDecision> {
    lease.waiting++
    try {
      for (;;) {
        await begin(lease)
        const decision = takeReserved(lease, nowMs())
        if (decision !== undefined) return decision
      }
    } finally {
      lease.waiting--
    }
  }

  /** Reserves requests unless a reservation is in progress. */
  function begin(lease: QuotaLeaseState): Promise<void> {
    lease.pending ??= reserve(lease).finally(() => {
      lease.pending = undefined
    })
    return lease.pending
  }

  async function reserve(lease: QuotaLeaseState): Promise<void> {
    const { counter, limit } = lease
    if (lease.endMs <= nowMs()) lease.left = 0
    // The first waiting request is part of the batch.
    const requests = Math.max(1, batch - lease.left) + Math.max(0, lease.waiting - 1)
    try {
      const { granted, used, epoch, leftMs } = await quotas.reserve({ counter, limit, requests })
      const now = nowMs()
      // Requests reserved before a reset or in another period are not counted in this one.
      if (epoch !== lease.epoch) lease.left = 0
      lease.left += granted
      lease.used = used
      lease.epoch = epoch
      lease.endMs = now + leftMs
      if (granted === 0) lease.deniedUntilMs = now + DENIED_MS
    } catch (cause) {
      lease.failedUntilMs = nowMs() + FAILED_MS
      log.warn({ err: cause, quota: counter.quota }, 'cannot count requests of a quota')
      throw toQuotaOutage(cause)
    }
  }

  async function release(lease: QuotaLeaseState): Promise<void> {
    const { counter, epoch, left, endMs } = lease
    lease.left = 0
    if (left === 0 || endMs <= nowMs()) return
    try {
      await quotas.release({ counter, epoch, requests: left })
    } catch (error) {
      // Not repeated, because the first attempt may have succeeded.
      const details = { err: error, quota: counter.quota, requests: left }
      log.warn(details, 'cannot release requests of a quota; they remain counted')
    }
  }

  async function releaseAll(released: readonly QuotaLeaseState[]): Promise<void> {
    for (let at = 0; at < released.length; at += RELEASES_MAX)
      await Promise.all(released.slice(at, at + RELEASES_MAX).map(release))
  }

  async function sweep(): Promise<void> {
    const before = nowMs() - IDLE_MS
    const idle: QuotaLeaseState[] = []
    for (const [key, lease] of leases.entries()) {
      if (lease.takenMs > before || lease.pending !== undefined) continue
      leases.delete(key)
      idle.push(lease)
    }
    await releaseAll(idle)
  }

  return {
    take(key, toCounter, limit) {
      let lease = leases.get(key)
      if (lease === undefined) {
        lease = createLease(toCounter())
        leases.set(key, lease)
      }
      const now = nowMs()
      lease.takenMs = now
      if (limit > lease.limit) lease.deniedUntilMs = 0
      lease.limit = limit
      const decision = takeReserved(lease, now)
      if (decision === undefined) {
        if (lease.failedUntilMs > now) throw toQuotaOutage(undefined)
        return takeLater(lease)
      }
      const isLow = lease.left < batch / 2 && lease.pending === undefined
      if (isLow && decision.isAllowed && Math.max(lease.deniedUntilMs, lease.failedUntilMs) <= now)
        begin(lease).catch(() => {})
      return decision
    },

    refund({ isAllowed, lease }) {
      if (isAllowed && lease !== undefined) lease.left++
    },

    sweep,

    async close() {
      clearInterval(timer)
      const all = [...leases.values()]
      await Promise.allSettled(all.map(({ pending }) => pending))
      await releaseAll(all)
    },
  }
}

function toDecision(lease: QuotaLeaseState, isAllowed: boolean, now: number): QuotaDecision {
  const { limit, used, left, endMs } = lease
  const remaining = isAllowed ? Math.max(0, limit - used + left) : 0
  return { isAllowed, remaining, resetMs: endMs - now, lease }
}

function createLease(counter: QuotaCounter): QuotaLeaseState {
  return {
    counter,
    limit: 0,
    left: 0,
    used: 0,
    epoch: '',
    endMs: 0,
    deniedUntilMs: 0,
    failedUntilMs: 0,
    takenMs: 0,
    waiting: 0,
    pending: undefined,
  }
}

function toQuotaOutage(cause: unknown): GatewayError {
  const headers = ['retry-after', '1']
  const detail = 'requests cannot be counted at the moment; try again'
  return new GatewayError(GATEWAY_ID, 503, detail, { cause, headers, repeatable: false })
}
