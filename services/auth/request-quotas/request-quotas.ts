import { setTimeout as delay } from 'node:timers/promises'
import type {
  QuotaCounter,
  QuotaPeriod,
  QuotaReservation,
  RequestQuotas,
} from '../../../core/contracts/request-quotas.ts'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import { unavailable } from '../../../sdk/errors.ts'
import { AUTH_TABLE } from '../records.ts'
import { findPeriod, PERIODS, type PeriodSpan } from './period.ts'
import { parseQuotaRecord, type QuotaRecord, toQuotaKey, toQuotaPrefix } from './quota-record.ts'

/** Event about a quota, published once per period and threshold. */
export interface QuotaEvent extends QuotaCounter {
  readonly action: 'quota.warning' | 'quota.exhausted'
  readonly used: number
  readonly limit: number
  /** End of the period, Unix time in milliseconds. */
  readonly ends: number
  /** Unix time in milliseconds. */
  readonly time: number
}

/** Count of a quota in the current period. */
export interface QuotaUsage extends QuotaRecord, Pick<PeriodSpan, 'startMs' | 'endMs'> {}

export interface QuotaUsageQuery {
  readonly period: QuotaPeriod
  /** @default all accounts of the namespace */
  readonly account?: string
  /** Cursor from the previous page. @default the first page */
  readonly after?: string
  /** Page size. */
  readonly limit: number
}

/** Filter of {@link StoredQuotas.reset}. */
export interface QuotaResetQuery {
  readonly account: string
  /** @default all quotas */
  readonly quota?: string
  /** @default all API keys, and the account itself */
  readonly apiKey?: string
}

/** Stored counts, with operations for administrators. */
export interface StoredQuotas extends RequestQuotas {
  /** Lists counts of the current period, paginated. */
  readonly list: (
    namespace: string,
    query: QuotaUsageQuery,
    signal?: AbortSignal,
  ) => Promise<{ readonly usage: readonly QuotaUsage[]; readonly next: string | undefined }>
  /**
   * Sets counts of the current day and month to 0. Existing leases of gateways remain usable.
   *
   * @returns the number of changed counts.
   */
  readonly reset: (namespace: string, query: QuotaResetQuery, errorId: string) => Promise<number>
}

export interface StoredQuotasOptions {
  readonly store: Store
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
  /** Called when a count reaches 80 % or 100 % of its limit for the first time in a period. */
  readonly onEvent: (event: QuotaEvent) => void
}

const ERROR_ID = 'auth.RequestQuotas.Reserve'
/** Maximum number of attempts, which concurrent servers can cause. */
const ATTEMPTS_MAX = 50
/** Attempts without a delay. */
const PROMPT_ATTEMPTS = 3
const DELAY_MAX_MS = 10
/** Counts remain stored for this time after their period. */
const RETAINED_MS = 35 * 24 * 3600_000
/**
 * Part of the remaining requests that a lease may have. Near the limit, leases become smaller, so that one gateway does
 * not reject requests while another has a large unused lease.
 */
const LEASE_SHARE = 10
const WARNING_PERCENT = 80

export function createRequestQuotas(options: StoredQuotasOptions): StoredQuotas {
  const { store, nowMs, onEvent } = options
  /** Last change by key: changes of this process wait for each other instead of conflicting. */
  const changing = new Map<string, Promise<unknown>>()

  async function attempt<T>(
    counter: QuotaCounter,
    span: PeriodSpan,
    change: (before: QuotaRecord) => readonly [next: QuotaRecord | undefined, result: T],
    errorId: string,
  ): Promise<T> {
    const key = toQuotaKey(counter, span.name)
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const record = await store.read(AUTH_TABLE, key)
      const before = record === undefined ? toEmpty(counter) : parseQuotaRecord(record)
      const [next, result] = change(before)
      if (next === undefined) return result
      const written = await commitIf(store, [
        {
          ...{ table: AUTH_TABLE, key, value: encodeRecord(next) },
          ...{ expiresMs: span.endMs + RETAINED_MS, ifVersion: record?.version ?? 0 },
          mayUseReserve: false,
        },
      ])
      if (written !== undefined) return result
      if (i >= PROMPT_ATTEMPTS) await delay(Math.random() * DELAY_MAX_MS)
    }
    throw unavailable(errorId, 'the quota is in use by concurrent requests, try again')
  }

  /** Changes a count atomically. */
  function change<T>(...args: Parameters<typeof attempt<T>>): Promise<T> {
    const [counter, span] = args
    const key = toQuotaKey(counter, span.name)
    const start = changing.get(key) ?? Promise.resolve()
    const changed = start.then(() => attempt(...args))
    const settled = changed
      .catch(() => {})
      .finally(() => {
        if (changing.get(key) === settled) changing.delete(key)
      })
    changing.set(key, settled)
    return changed
  }

  function publish(record: QuotaRecord, { endMs }: PeriodSpan): void {
    const { quota, period, namespace, account, apiKey, used, limit, notified } = record
    const action = notified === 100 ? 'quota.exhausted' : 'quota.warning'
    onEvent({
      ...{ action, quota, period, namespace, account, apiKey, used, limit },
      ...{ ends: endMs, time: nowMs() },
    })
  }

  return {
    async reserve(reservation) {
      const { counter, limit } = reservation
      const span = findPeriod(counter.period, nowMs())
      const [before, after, granted] = await change<[QuotaRecord, QuotaRecord, number]>(
        counter,
        span,
        (before) => {
          const granted = toGranted(before.used, reservation)
          const used = before.used + granted
          const notified = Math.max(before.notified, toNotified(used, limit))
          const next = { ...before, used, limit, notified }
          const isChanged = granted > 0 || limit !== before.limit || notified > before.notified
          return [isChanged ? next : undefined, [before, next, granted]]
        },
        ERROR_ID,
      )
      if (after.notified > before.notified) publish(after, span)
      const epoch = toEpoch(after, span)
      return { granted, used: after.used, epoch, leftMs: Math.max(0, span.endMs - nowMs()) }
    },

    async release({ counter, epoch, requests }) {
      const span = findPeriod(counter.period, nowMs())
      await change(
        counter,
        span,
        (before) => {
          const isCurrent = toEpoch(before, span) === epoch
          const used = Math.max(0, before.used - requests)
          return [isCurrent && used < before.used ? { ...before, used } : undefined, undefined]
        },
        ERROR_ID,
      )
    },

    async list(namespace, { period, account, after, limit }, signal) {
      const span = findPeriod(period, nowMs())
      const start = toQuotaPrefix(namespace, period, span.name)
      const prefix = toQuotaPrefix(namespace, period, span.name, account)
      const query = { prefix, limit, ...(after !== undefined && { after: `${start}${after}` }) }
      const { records, next } = await store.list(AUTH_TABLE, query, signal)
      const { startMs, endMs } = span
      const usage = records.map((record) => ({ ...parseQuotaRecord(record), startMs, endMs }))
      return { usage, next: next?.slice(start.length) }
    },

    async reset(namespace, { account, quota, apiKey }, errorId) {
      let count = 0
      for (const period of PERIODS) {
        const span = findPeriod(period, nowMs())
        const prefix = toQuotaPrefix(namespace, period, span.name, account)
        for (let after: string | undefined = ''; after !== undefined; ) {
          const page = await store.list(AUTH_TABLE, { prefix, ...(after !== '' && { after }) })
          for (const counter of page.records.map(parseQuotaRecord)) {
            if (quota !== undefined && counter.quota !== quota) continue
            if (apiKey !== undefined && counter.apiKey !== apiKey) continue
            await change(
              counter,
              span,
              (before) => [
                { ...before, used: 0, notified: 0, resets: before.resets + 1 },
                undefined,
              ],
              errorId,
            )
            count++
          }
          after = page.next
        }
      }
      return count
    },
  }
}

function toEmpty(counter: QuotaCounter): QuotaRecord {
  return { ...counter, used: 0, limit: 0, resets: 0, notified: 0 }
}

function toGranted(used: number, { requests, limit }: QuotaReservation): number {
  const remaining = Math.max(0, limit - used)
  return Math.min(requests, Math.ceil(remaining / LEASE_SHARE))
}

function toNotified(used: number, limit: number): number {
  if (used >= limit) return 100
  return used * 100 >= limit * WARNING_PERCENT ? WARNING_PERCENT : 0
}

function toEpoch({ resets }: QuotaRecord, { name }: PeriodSpan): string {
  return `${name}.${resets}`
}
