import { clock } from '../../lib/time/coarse-clock.ts'

/** Spread of the maximum age, so that connections opened simultaneously do not end simultaneously. */
const AGE_JITTER = 0.1

/** Returns the `clock.nowMs` at which a connection opened now reaches its maximum age. */
export function toAgeLimit(maxAgeMs: number = Number.POSITIVE_INFINITY): number {
  return clock.nowMs + maxAgeMs * (1 - AGE_JITTER * Math.random())
}
