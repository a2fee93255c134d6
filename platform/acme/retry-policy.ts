import { LRUCache } from 'lru-cache'
import type { Clock } from './client/clock.ts'

/** How long this gateway lets hosts be, whatever the store says: it may have lost what it was told, or not be there. */
export interface Pauses {
  readonly isPaused: (host: string) => boolean
  /** Attempts that failed, one after the other. */
  readonly failures: (host: string) => number
  /** After a failure. */
  readonly fail: (host: string, ms: number) => void
  /** After a success. */
  readonly rest: (host: string, ms: number) => void
  readonly end: (host: string) => void
}

interface Pause {
  readonly untilMs: number
  readonly failures: number
}

const HOSTS_MAX = 10_000

export function createPauses({ elapsedMs }: Pick<Clock, 'elapsedMs'>): Pauses {
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
