import type { Service } from '../../../core/contracts/registry.ts'
import { MAX_ADVERTISED_BYTES, MAX_DESTINATIONS } from '../limits.ts'

/** An unreachable service of other servers. */
export interface UnreachableService {
  readonly name: string
  /** Versions of the service, without nodes. */
  readonly services: readonly Service[]
  /** Ids of the servers that provided it. */
  readonly owners: readonly string[]
  /** Size of its entry in bytes. */
  readonly bytes: number
  /** Milliseconds since it became unreachable. */
  readonly ageMs: number
}

/**
 * Missing services, which are retained for a day, or for 95 s after all their servers have become
 * reachable again. Their number and size have the same limits as the routes of one peer; the oldest are
 * dropped first.
 */
export interface UnreachableServices {
  readonly get: (name: string) => UnreachableService | undefined
  readonly list: () => UnreachableService[]
  /** @returns the names of services dropped to free space. */
  readonly add: (lost: UnreachableService) => string[]
  readonly release: (name: string) => void
  /** Drops expired services. @returns their names. */
  readonly expire: () => string[]
}

export interface UnreachableServicesOptions {
  /** Returns whether a server is reachable. */
  readonly isReachable: (server: string) => boolean
  /** Monotonic clock in milliseconds. */
  readonly nowMs: () => number
}

interface Entry {
  readonly lost: UnreachableService
  readonly sinceMs: number
  /** Time when all owners became reachable; undefined while any is unreachable. */
  backMs: number | undefined
}

/**
 * A service of a restarted server registers within its heartbeat interval of 30 s, and the TTL of a
 * service is 90 s.
 */
const BACK_MS = 95_000
const LOST_MS = 24 * 60 * 60_000

export function createUnreachableServices({
  isReachable,
  nowMs,
}: UnreachableServicesOptions): UnreachableServices {
  /** Entries, oldest first. */
  const entries = new Map<string, Entry>()
  let bytes = 0

  function release(name: string): void {
    bytes -= entries.get(name)?.lost.bytes ?? 0
    entries.delete(name)
  }

  const toLost = ({ lost, sinceMs }: Entry): UnreachableService => ({
    ...lost,
    ageMs: nowMs() - sinceMs,
  })

  return {
    get: (name) => entries.get(name)?.lost,
    list: () => Array.from(entries.values(), toLost),
    release,

    add(lost) {
      release(lost.name)
      entries.set(lost.name, { lost, sinceMs: nowMs() - lost.ageMs, backMs: undefined })
      bytes += lost.bytes
      const dropped: string[] = []
      for (const name of entries.keys()) {
        if (entries.size <= MAX_DESTINATIONS && bytes <= MAX_ADVERTISED_BYTES) break
        release(name)
        dropped.push(name)
      }
      return dropped
    },

    expire() {
      const now = nowMs()
      const dropped: string[] = []
      for (const [name, entry] of entries) {
        entry.backMs = entry.lost.owners.every(isReachable) ? (entry.backMs ?? now) : undefined
        const hasReturned = entry.backMs !== undefined && now - entry.backMs >= BACK_MS
        if (!hasReturned && now - entry.sinceMs < LOST_MS) continue
        release(name)
        dropped.push(name)
      }
      return dropped
    },
  }
}
