import { LRUCache } from 'lru-cache'
import type { Clock } from './client/clock.ts'

/**
 * Pauses between this gateway's certificate orders, per host. They are stored in memory, because
 * the store may be unavailable or may have lost records.
 */
export interface RetryPauses {
  readonly isPaused: (host: string) => boolean
  /** Returns the number of consecutive failures. */
  readonly failures: (host: string) => number
  /** Starts a pause after a failure. */
  readonly fail: (host: string, ms: number) => void
  /** Starts a pause after a success. */
  readonly rest: (host: string, ms: number) => void
  readonly end: (host: string) => void
}

interface Pause {
  readonly untilMs: number
  readonly failures: number
}

const HOSTS_MAX = 10_000

export function createRetryPauses({ elapsedMs }: Pick<Clock, 'elapsedMs'>): RetryPauses {
  const pauses = new LRUCache<string, Pause>({ max: HOSTS_MAX })
  const failures = (host: string): number => pauses.get(host)?.failures ?? 0
  const pause = (host: string, ms: number, failures: number): void => {
    pauses.set(host, { untilMs: elapsedMs() + ms, failures })
  }
  return {
    failures,
    isPaused: (host) => (pauses.get(host)?.untilMs ?? 0) > elapsedMs(),
    fail: (host, ms) => pause(host, ms, failures(host) + 1),
    rest: (host, ms) => pause(host, ms, 0),
    end: (host) => pauses.delete(host),
  }
}
