import type { QuotaPeriod } from '../../../core/contracts/request-quotas.ts'

/** A day or month in UTC. Times are Unix times in milliseconds. */
export interface PeriodSpan {
  /** Such as `2026-12-01` or `2026-12`. */
  readonly name: string
  readonly startMs: number
  /** Exclusive. */
  readonly endMs: number
}

export const PERIODS: readonly QuotaPeriod[] = ['day', 'month']

/** Returns the period that contains a time. */
export function findPeriod(period: QuotaPeriod, nowMs: number): PeriodSpan {
  const now = new Date(nowMs)
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const iso = now.toISOString()
  return period === 'day'
    ? {
        name: iso.slice(0, 10),
        startMs: Date.UTC(year, month, day),
        endMs: Date.UTC(year, month, day + 1),
      }
    : { name: iso.slice(0, 7), startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) }
}
