import { commitIf } from '../../domain/store/commit-if.ts'
import { encodeRecord } from '../../domain/store/json-record.ts'
import type { Store, StoreWrite } from '../../domain/store/store.ts'
import type { Clock } from './client/clock.ts'
import { type OrderRecord, parseOrderRecord, TABLE } from './records.ts'

/** An order record, and which one. */
export interface SeenOrder extends OrderRecord {
  readonly version: number
  /** Until when nobody may order but its holder, by the {@link Clock.elapsedMs} of this gateway. */
  readonly untilMs: number
}

export interface OrderLeaseOptions {
  readonly store: Store
  /** Id of this gateway. */
  readonly holder: string
  /** How long the turn of a gateway that is gone keeps the others waiting, milliseconds. */
  readonly holdMs: number
  readonly clock: Clock
}

/** What is ordered. */
export interface LeaseTarget {
  readonly host: string
  /** Key of its order record. */
  readonly place: string
  /** What is known of it. */
  readonly seen: SeenOrder | undefined
  /** Whether the record is never to be forgotten: there are as many as were listed. */
  readonly isListed: boolean
}

/** The right to order the certificate of a host: of all gateways one has it. */
export interface OrderLease {
  /** Ends it, and writes what came of it; another is ordered after `restMs` at the earliest. */
  readonly succeed: (certificate: StoreWrite, restMs: number) => Promise<void>
  readonly fail: (reason: string, retryMs: number) => Promise<void>
  /** Ends it; nothing came of it. */
  readonly release: () => Promise<void>
}

/** Failures are remembered for so long after the next attempt could have been made. */
const MEMORY_MS = 7 * 24 * 3600 * 1000

/**
 * What a record means for this gateway from now on.
 *
 * @param isNew it was not there before: what it says begins now, whatever the clock of whoever wrote it.
 */
export function toSeen(
  order: OrderRecord,
  version: number,
  isNew: boolean,
  { nowMs, elapsedMs }: Clock,
): SeenOrder {
  const { holdMs, waitMs, retryMs } = order
  const leftMs = isNew ? waitMs : Math.min(waitMs, Math.max(0, retryMs - nowMs()))
  return { ...order, version, untilMs: elapsedMs() + (holdMs > 0 ? holdMs : leftMs) }
}

/**
 * Whether a gateway may not order, by what it knows of a host.
 *
 * A turn of its own it may take up: it is of an attempt whose end the store has not heard of.
 */
export function isLeased(
  order: SeenOrder | undefined,
  { holder, clock }: Pick<OrderLeaseOptions, 'holder' | 'clock'>,
): boolean {
  if (order === undefined || (order.holdMs > 0 && order.holder === holder)) return false
  return order.untilMs > clock.elapsedMs()
}

/**
 * Takes the turn of a host, and keeps it until it is ended.
 *
 * @returns undefined: another gateway was faster.
 */
export async function acquireLease(
  { host, place: key, seen, isListed }: LeaseTarget,
  { store, holder, holdMs, clock }: OrderLeaseOptions,
): Promise<OrderLease | undefined> {
  const failures = seen?.failures ?? 0
  const reason = seen?.reason ?? ''
  let version = seen?.version ?? 0

  function toWrite(changes: Partial<OrderRecord>): StoreWrite {
    const atMs = clock.nowMs()
    const order = { host, holder, holdMs: 0, failures, waitMs: 0, retryMs: 0, reason, ...changes }
    if (order.waitMs > 0) order.retryMs = atMs + order.waitMs
    const expiresMs = isListed ? 0 : atMs + Math.max(order.holdMs, order.waitMs) + MEMORY_MS
    return { table: TABLE, key, value: encodeRecord(order), expiresMs, ifVersion: version }
  }

  /** Whether the last word in the store is of this gateway, which may have missed that it came there, or of nobody. */
  async function isOwn(): Promise<boolean> {
    const record = await store.read(TABLE, key)
    if (record !== undefined && parseOrderRecord(record).holder !== holder) return false
    version = record?.version ?? 0
    return true
  }

  /** False: another gateway has the turn by now. */
  async function write(
    changes: Partial<OrderRecord>,
    besides: readonly StoreWrite[] = [],
  ): Promise<boolean> {
    const commit = () => commitIf(store, [...besides, toWrite(changes)])
    let versions = await commit()
    if (versions === undefined && (await isOwn())) versions = await commit()
    version = versions?.at(-1) ?? version
    return versions !== undefined
  }

  const hold = (): Promise<boolean> => write({ holdMs })

  if (!(await hold())) return undefined
  let holding: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    // What cannot be kept for now is lost only when it is over.
    holding = holding.then(hold).catch(() => {})
  }, holdMs / 3).unref()

  /** The last word of it; where another gateway has the turn by now, that one's counts. */
  async function end(
    changes: Partial<OrderRecord>,
    besides?: readonly StoreWrite[],
  ): Promise<boolean> {
    clearInterval(timer)
    await holding
    return write(changes, besides)
  }

  return {
    async succeed(certificate, restMs) {
      const rest = { failures: 0, waitMs: restMs, reason: '' }
      // Whoever has the turn by now would only get another.
      if (!(await end(rest, [certificate]))) await store.commit([certificate])
    },
    async fail(text, retryMs) {
      await end({ failures: failures + 1, reason: text, waitMs: retryMs })
    },
    async release() {
      await end({})
    },
  }
}
