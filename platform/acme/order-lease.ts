import { commitIf } from '../../domain/store/commit-if.ts'
import { encodeRecord } from '../../domain/store/json-record.ts'
import type { Store, StoreWrite } from '../../domain/store/store.ts'
import type { Clock } from './client/clock.ts'
import { ACME_TABLE, type OrderRecord, parseOrderRecord } from './records.ts'

/** An order record with its version, as read by this gateway. */
export interface ObservedOrder extends OrderRecord {
  readonly version: number
  /** End of the lease or of the wait, on this gateway's {@link Clock.elapsedMs}. */
  readonly untilMs: number
}

export interface OrderLeaseOptions {
  readonly store: Store
  /** Id of this gateway. */
  readonly holder: string
  /**
   * Duration of the lease without renewal in milliseconds. After a crash, other gateways wait for
   * this time.
   */
  readonly holdMs: number
  readonly clock: Clock
}

export interface LeaseTarget {
  readonly host: string
  /** Key of the order record. */
  readonly key: string
  readonly observed: ObservedOrder | undefined
  /** Whether the host is listed in `acme_hosts`. The record of a listed host never expires. */
  readonly isListed: boolean
}

/** The exclusive right among all gateways to order the certificate of a host. */
export interface OrderLease {
  /** Stores the certificate and ends the lease. The next order is allowed after `restMs`. */
  readonly succeed: (certificate: StoreWrite, restMs: number) => Promise<void>
  readonly fail: (reason: string, retryMs: number) => Promise<void>
  /** Ends the lease without a result. */
  readonly release: () => Promise<void>
}

/** Retention of failure counts after the earliest next attempt. */
const FAILURES_RETAINED_MS = 7 * 24 * 3600 * 1000

/**
 * Converts the waits of a record to the clock of this gateway.
 *
 * @param isNew whether the record is seen for the first time. Its waits then start now, because the
 * writer's clock may be incorrect.
 */
export function toObservedOrder(
  order: OrderRecord,
  version: number,
  isNew: boolean,
  { nowMs, elapsedMs }: Clock,
): ObservedOrder {
  const { holdMs, waitMs, retryMs } = order
  const remainingMs = isNew ? waitMs : Math.min(waitMs, Math.max(0, retryMs - nowMs()))
  return { ...order, version, untilMs: elapsedMs() + (holdMs > 0 ? holdMs : remainingMs) }
}

/**
 * Returns whether this gateway has to wait before it orders.
 *
 * A gateway may resume its own lease, which persists if the release did not reach the store.
 */
export function isLeased(
  order: ObservedOrder | undefined,
  { holder, clock }: Pick<OrderLeaseOptions, 'holder' | 'clock'>,
): boolean {
  if (order === undefined || (order.holdMs > 0 && order.holder === holder)) return false
  return order.untilMs > clock.elapsedMs()
}

/**
 * Acquires the lease of a host and renews it until it is ended.
 *
 * @returns undefined if another gateway was faster.
 */
export async function acquireLease(
  { host, key, observed: cachedOrder, isListed }: LeaseTarget,
  { store, holder, holdMs, clock }: OrderLeaseOptions,
): Promise<OrderLease | undefined> {
  const failures = cachedOrder?.failures ?? 0
  const reason = cachedOrder?.reason ?? ''
  let version = cachedOrder?.version ?? 0

  function toWrite(changes: Partial<OrderRecord>): StoreWrite {
    const atMs = clock.nowMs()
    const order = { host, holder, holdMs: 0, failures, waitMs: 0, retryMs: 0, reason, ...changes }
    if (order.waitMs > 0) order.retryMs = atMs + order.waitMs
    const expiresMs = isListed
      ? 0
      : atMs + Math.max(order.holdMs, order.waitMs) + FAILURES_RETAINED_MS
    return { table: ACME_TABLE, key, value: encodeRecord(order), expiresMs, ifVersion: version }
  }

  /**
   * Returns whether the record is absent or was written by this gateway, which may have missed the
   * acknowledgement.
   */
  async function hasOwnRecord(): Promise<boolean> {
    const record = await store.read(ACME_TABLE, key)
    if (record !== undefined && parseOrderRecord(record).holder !== holder) return false
    version = record?.version ?? 0
    return true
  }

  /** Returns false if another gateway holds the lease. */
  async function write(
    changes: Partial<OrderRecord>,
    writes: readonly StoreWrite[] = [],
  ): Promise<boolean> {
    const commit = () => commitIf(store, [...writes, toWrite(changes)])
    let versions = await commit()
    if (versions === undefined && (await hasOwnRecord())) versions = await commit()
    version = versions?.at(-1) ?? version
    return versions !== undefined
  }

  const renew = (): Promise<boolean> => write({ holdMs })

  if (!(await renew())) return undefined
  let renewing: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    // A failed renewal is retried. The lease is lost only when it expires.
    renewing = renewing.then(renew).catch(() => {})
  }, holdMs / 3).unref()

  /** Writes the final record unless another gateway has acquired the lease in the meantime. */
  async function end(
    changes: Partial<OrderRecord>,
    writes?: readonly StoreWrite[],
  ): Promise<boolean> {
    clearInterval(timer)
    await renewing
    return write(changes, writes)
  }

  return {
    async succeed(certificate, restMs) {
      const restRecord = { failures: 0, waitMs: restMs, reason: '' }
      // The certificate is stored even if the lease was lost. Otherwise, another gateway would
      // order one more.
      if (!(await end(restRecord, [certificate]))) await store.commit([certificate])
    },
    async fail(text, retryMs) {
      await end({ failures: failures + 1, reason: text, waitMs: retryMs })
    },
    async release() {
      await end({})
    },
  }
}
