import { commitIf } from '../../core/store/commit-if.ts'
import { formatKept } from '../../core/store/kept-json.ts'
import type { Store, StoreWrite } from '../../core/store/store.ts'
import { type OrderRecord, TABLE, toOrderKey } from './records.ts'

/** An order record, and which one. */
export interface SeenOrder extends OrderRecord {
  readonly version: number
}

export interface TurnOptions {
  readonly store: Store
  readonly scope: string
  /** Id of this gateway. */
  readonly holder: string
  /** How long the turn of a gateway that is gone keeps the others waiting, milliseconds. */
  readonly holdMs: number
  /** Unix time. */
  readonly nowMs: () => number
}

/** The right to order the certificate of a host: of all gateways one has it. */
export interface Turn {
  /** Ends it, and writes what came of it. */
  readonly succeed: (certificate: StoreWrite) => Promise<void>
  readonly fail: (reason: string, retryMs: number) => Promise<void>
  /** Ends it; nothing came of it. */
  readonly release: () => Promise<void>
}

/** Failures are remembered for so long after the next attempt could have been made. */
const MEMORY_MS = 7 * 24 * 3600 * 1000

/** Whether nobody may order, by what is known of a host. */
export function isTaken(order: OrderRecord | undefined, nowMs: number): boolean {
  return order !== undefined && (order.heldUntilMs > nowMs || order.retryMs > nowMs)
}

/**
 * Takes the turn of a host, and keeps it until it is ended.
 *
 * @param seen what is known of it.
 * @returns undefined: another gateway was faster.
 */
export async function takeTurn(
  host: string,
  seen: SeenOrder | undefined,
  { store, scope, holder, holdMs, nowMs }: TurnOptions,
): Promise<Turn | undefined> {
  const place = { table: TABLE, key: toOrderKey(scope, host) }
  const failures = seen?.failures ?? 0
  const reason = seen?.reason ?? ''
  let version = seen?.version ?? 0

  function toWrite(changes: Partial<OrderRecord>): StoreWrite {
    const order = { host, holder, heldUntilMs: 0, failures, retryMs: 0, reason, ...changes }
    const untilMs = Math.max(order.heldUntilMs, order.retryMs, nowMs())
    const expiresMs = untilMs + MEMORY_MS
    return { ...place, value: formatKept(order), expiresMs, ifVersion: version }
  }

  async function hold(): Promise<boolean> {
    const versions = await commitIf(store, [toWrite({ heldUntilMs: nowMs() + holdMs })])
    if (versions !== undefined) version = versions[0]!
    return versions !== undefined
  }

  if (!(await hold())) return undefined
  let holding: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    // What cannot be kept for now is lost only when it is over.
    holding = hold().catch(() => {})
  }, holdMs / 3).unref()

  /** The last word of it; where another gateway has the turn by now, that one's counts. */
  async function end(writes: () => readonly StoreWrite[]): Promise<boolean> {
    clearInterval(timer)
    await holding
    return (await commitIf(store, writes())) !== undefined
  }

  return {
    async succeed(certificate) {
      const isDone = await end(() => [certificate, { ...place, ifVersion: version }])
      // Whoever has the turn by now would only get another.
      if (!isDone) await store.commit([certificate])
    },
    fail: async (text, retryMs) => {
      await end(() => [toWrite({ failures: failures + 1, reason: text, retryMs })])
    },
    release: async () => {
      await end(() => [toWrite({})])
    },
  }
}
